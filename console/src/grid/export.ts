/** The view as a CSV file: the rows and columns that the grid would show, read page by page. */
import { columnsOf } from '../kinds/columns';
import type { AnyRecord, Kind } from '../kinds/kind';
import { changeToast, dismiss, toast, toastProblem } from '../ui/toast';
import { count, plural } from '../words';
import { cell, save } from '../csv';
import { pagesOf } from './pages';
import type { View } from './view';

/** More are exported by the API as a job, which this message says. */
const MOST = 100_000;

export async function exportView<R extends AnyRecord>(kind: Kind<R>, view: View): Promise<void> {
  let cancelled = false;
  const id = toast('Exporting…', { stays: true, action: { text: 'Stop', run: () => (cancelled = true) } });
  try {
    const columns = columnsOf(kind, view.columns);
    const lines = [columns.map((each) => cell(each.name)).join(',')];
    let cut = false;
    for await (const page of pagesOf(kind, view)) {
      if (cancelled || (cut = lines.length > MOST)) break;
      await kind.prepare(page);
      for (const each of page) lines.push(columns.map((column) => cell(column.text(each))).join(','));
      changeToast(id, `Exporting: ${count(lines.length - 1)} ${kind.many}…`);
    }
    dismiss(id);
    if (cancelled) return;
    save(`${kind.many}-${new Date().toISOString().slice(0, 10)}.csv`, `\ufeff${lines.join('\r\n')}`);
    if (cut) toast(`The file has the first ${count(MOST)} ${kind.many}. For all of them start an export job: POST ${kind.api}/exports.`, { bad: true });
    else toast(`Exported ${plural(lines.length - 1, kind.one, kind.many)}.`);
  } catch (error) {
    dismiss(id);
    toastProblem(error);
  }
}
