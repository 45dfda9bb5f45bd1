/** The view as a CSV file: the rows and columns that the grid would show, read page by page. */
import { get } from '../api';
import type { Contact, Page } from '../types';
import { changeToast, dismiss, toast, toastProblem } from '../ui/toast';
import { count } from '../words';
import { columnsOf } from './columns';
import { companies, loadCompanies } from './rows';
import { apiQuery, type View } from './view';

const PAGE = 200;
/** More are exported by the API as a job, which this message says. */
const MOST = 100_000;

export async function exportView(view: View): Promise<void> {
  let cancelled = false;
  const id = toast('Exporting…', { stays: true, action: { text: 'Stop', run: () => (cancelled = true) } });
  try {
    const columns = columnsOf(view.columns);
    const lines = [columns.map((each) => cell(each.name)).join(',')];
    let cursor: string | null = null;
    do {
      const page: Page<Contact> = await get<Page<Contact>>('/public/v2/contacts', apiQuery(view, PAGE, cursor));
      await loadCompanies(page.data);
      for (const each of page.data) lines.push(columns.map((column) => cell(column.text(each, companies.value))).join(','));
      cursor = page.next_cursor;
      changeToast(id, `Exporting: ${count(lines.length - 1)} contacts…`);
    } while (cursor && !cancelled && lines.length <= MOST);
    dismiss(id);
    if (cancelled) return;
    save(`contacts-${new Date().toISOString().slice(0, 10)}.csv`, lines.join('\r\n'));
    if (cursor) toast(`The file has the first ${count(MOST)} contacts. For all of them start an export job: POST /public/v2/contacts/exports.`, { bad: true });
    else toast(`Exported ${count(lines.length - 1)} contacts.`);
  } catch (error) {
    dismiss(id);
    toastProblem(error);
  }
}

/** A value of CSV; a text that a spreadsheet would run as a formula gets an apostrophe before it. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

function save(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([`\ufeff${text}`], { type: 'text/csv' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
