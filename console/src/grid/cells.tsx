/** Cells of the grid: editing one, pasting into many, filtering by a value. */
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, get } from '../api';
import { useGet } from '../data';
import { memberName, valueOf, type AnyRecord, type Column, type Kind } from '../kinds/kind';
import { change } from '../record/change';
import { bodyOf, isText } from '../record/fields';
import { notedHere } from '../record/notes';
import { usePeople } from '../replies/conversations';
import { canWrite } from '../session';
import type { CustomField, Page, Status } from '../types';
import { toast, toastProblem } from '../ui/toast';
import { words } from '../words';
import { CUT, type Rows } from './rows';
import { rangeOf, type Selection } from './selection';
import { current, show } from './view';

/** Whether the person may change what a column shows. */
export function isEditable<R extends AnyRecord>(kind: Kind<R>, { key }: Column<R>): boolean {
  return canWrite.value && (isText(kind, key) || key === kind.status || key === 'owner_id');
}

/** Whether a text in a list may go on: the server cuts what is longer. */
export function isCut(value: string): boolean {
  return value.length > CUT && value.endsWith('…');
}

interface CellProps<R extends AnyRecord> {
  rows: Rows<R>;
  columns: readonly Column<R>[];
  selection: Selection<R>;
  column: Column<R>;
  record: R;
}

export const FLAT = { structure: 'FLAT' };

/** The editor of a cell: Enter saves, Tab saves and goes on to the next cell, Escape leaves. */
export function CellEditor<R extends AnyRecord>({ rows, columns, selection, column, record }: CellProps<R>) {
  const { kind } = rows;
  const shown = valueOf(kind, record, column.key);
  const [text, setText] = useState<string | null>(isCut(shown) ? null : shown);
  const field = useRef<HTMLInputElement & HTMLSelectElement>(null);
  const whole = useRef(record);
  const isSaved = useRef(false);
  const choices = useChoices(kind, column.key);
  const isReady = text !== null;
  useEffect(() => {
    if (isReady) {
      field.current?.focus();
      field.current?.select?.();
      return;
    }
    get<R>(`${kind.api}/${record.id}`, FLAT).then((found) => {
      whole.current = found;
      setText(valueOf(kind, found, column.key));
    }, (error: unknown) => (toastProblem(error), leave()));
  }, [isReady]);

  function leave() {
    selection.editing.value = false;
    document.getElementById('grid')?.focus({ preventScroll: true });
  }

  /** What was typed is shown at once; a refusal takes it back, and has it in its message. */
  function save() {
    const { key } = column;
    const [before, after] = [valueOf(kind, whole.current, key), text?.trim() ?? ''];
    if (text === null || after === before || isSaved.current) return;
    isSaved.current = true;
    change(kind, whole.current, bodyOf(kind.one, key, after), bodyOf(kind.one, key, before), `${memberName(key)} ${after ? 'changed' : 'removed'}.`, false).catch((error: unknown) =>
      toast(`${kind.nameOf(record)}, ${memberName(key)}: “${after}” was refused. ${asProblem(error).message}`, { bad: true }),
    );
  }

  function onKeyDown(event: KeyboardEvent) {
    event.stopPropagation();
    if (event.key === 'Escape') leave();
    else if (event.key === 'Enter') {
      event.preventDefault();
      save();
      leave();
    } else if (event.key === 'Tab') {
      event.preventDefault();
      save();
      const step = event.shiftKey ? -1 : 1;
      let next = selection.column.value + step;
      while (columns[next] && !isEditable(kind, columns[next] as Column<R>)) next += step;
      if (!columns[next]) leave();
      else selection.column.value = next;
    }
  }

  function onBlur() {
    save();
    // After Tab or a click it is another cell that is edited, or none.
    if (columns[selection.column.value]?.key === column.key && rows.at(selection.at.value)?.id === record.id) selection.editing.value = false;
  }

  if (!isReady) return <span class="bar" aria-busy="true" />;
  const shared = { ref: field, 'aria-label': memberName(column.key), value: text, onKeyDown, onBlur };
  if (!choices) return <input {...shared} class="cell-editor" type="text" dir="auto" onInput={(event) => setText(event.currentTarget.value)} />;
  const has = choices.some(([value]) => value === text);
  return (
    <select {...shared} class="cell-editor" onChange={(event) => setText(event.currentTarget.value)}>
      {!has && <option value={text}>{text}</option>}
      {choices.map(([value, name]) => <option key={value} value={value}>{name}</option>)}
    </select>
  );
}

/** The values that a field can have, with their names; null for any text. */
export function useChoices<R extends AnyRecord>(kind: Kind<R>, key: string): (readonly [string, string])[] | null {
  const isStatus = key === kind.status;
  const custom = key.startsWith('cf.') ? key.slice(3) : '';
  const statuses = useGet<Page<Status>>(`/public/v2/statuses/${kind.many}`, { limit: '200' }, { enabled: isStatus });
  const people = usePeople(notedHere(kind.many, 0).of);
  const found = useGet<Page<CustomField>>(`/public/v2/custom-fields/${kind.many}`, { q: custom, limit: '200' }, { enabled: custom !== '' });
  if (isStatus) return [['', 'No status'], ...(statuses.data?.data ?? []).map(({ name }) => [name, words(name)] as const)];
  if (key === 'owner_id') return [['', 'Nobody'], ...people];
  const declared = found.data?.data.find(({ name }) => name === custom);
  if (declared?.type === 'boolean') return [['', ''], ['true', 'true'], ['false', 'false']];
  return declared?.options?.length ? [['', ''], ...declared.options.map((option) => [option, option] as const)] : null;
}

/** Filter by the value of a cell. */
export function filterBy<R extends AnyRecord>(kind: Kind<R>, column: Column<R>, record: R): void {
  const [key, value] = column.filter?.(record) ?? [column.key, valueOf(kind, record, column.key)];
  if (!column.filter && column.isMember === false) return;
  const now = current(kind);
  const others = now.filters.filter(([name]) => name.replace(/\[\w+\]$/, '') !== key);
  const day = kind.times.includes(key) && value ? value.slice(0, 10) : '';
  const after = day && new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString();
  const added: [string, string][] = !value ? [[`${key}[is_set]`, 'false']] : day ? [[`${key}[gte]`, `${day}T00:00:00Z`], [`${key}[lt]`, after]] : isCut(value) ? [[`${key}[starts_with]`, value.slice(0, -1)]] : [[`${key}[eq]`, value]];
  show(kind, { ...now, filters: [...others, ...added] });
}

/** Cells as spreadsheets take them: tabs between cells, quotes around what has tabs, quotes or line breaks. */
function blockOf(cells: readonly (readonly string[])[]): string {
  return cells.map((row) => row.map((cell) => (/["\t\n]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell)).join('\t')).join('\n');
}

/** Copy the range of cells, and take what is pasted into it. */
export function useClipboard<R extends AnyRecord>(list: RefObject<HTMLElement | null>, rows: Rows<R>, columns: readonly Column<R>[], selection: Selection<R>, selectable: boolean): void {
  useEffect(() => {
    const isHere = () => selection.at.value >= 0 && !selection.editing.value && (document.activeElement === document.body || list.current?.contains(document.activeElement)) && !document.querySelector('dialog[open], :popover-open');
    function onPaste(event: ClipboardEvent) {
      if (!selectable || !isHere()) return;
      const text = event.clipboardData?.getData('text/plain') ?? '';
      if (!text) return;
      event.preventDefault();
      selection.pasted.value = text;
    }
    function onCopy(event: ClipboardEvent) {
      if (!isHere() || getSelection()?.toString()) return;
      const range = rangeOf(selection);
      const copied = [];
      for (let row = range.rows[0]; row <= range.rows[1]; row += 1) {
        const record = rows.at(row);
        if (record) copied.push(columns.slice(range.columns[0], range.columns[1] + 1).map(({ key }) => (key === 'name' ? rows.kind.nameOf(record) : valueOf(rows.kind, record, key))));
      }
      event.clipboardData?.setData('text/plain', blockOf(copied));
      event.preventDefault();
    }
    document.addEventListener('paste', onPaste);
    document.addEventListener('copy', onCopy);
    return () => {
      document.removeEventListener('paste', onPaste);
      document.removeEventListener('copy', onCopy);
    };
  });
}
