/** Which records are selected: some, each by its id, or all that match. */
import { signal, type Signal } from '@preact/signals';
import type { AnyRecord } from '../kinds/kind';

export interface Selection<R> {
  /** The records stay here, also after their rows have been let go. */
  records: Signal<ReadonlyMap<number, R>>;
  /** Whether every record that matches is meant, also those that are not loaded. */
  all: Signal<boolean>;
  /** The row that the keyboard is at. */
  at: Signal<number>;
  /** The column that it is at, from the left. */
  column: Signal<number>;
  /** The other corner of a range of cells; null: there is only the cell that the keyboard is at. */
  from: Signal<Cell | null>;
  /** Whether that cell is edited. */
  editing: Signal<boolean>;
  /** What was pasted and waits for a yes. */
  pasted: Signal<string | null>;
}

export interface Cell {
  row: number;
  column: number;
}

export function newSelection<R extends AnyRecord>(): Selection<R> {
  return { records: signal(new Map()), all: signal(false), at: signal(-1), column: signal(0), from: signal(null), editing: signal(false), pasted: signal(null) };
}

/** The range of cells: its first and its last row and column. */
export function rangeOf<R>({ at, column, from }: Selection<R>): { rows: [number, number]; columns: [number, number] } {
  const [row, other] = [from.value?.row ?? at.value, from.value?.column ?? column.value];
  return { rows: [Math.min(row, at.value), Math.max(row, at.value)], columns: [Math.min(other, column.value), Math.max(other, column.value)] };
}

export function isInRange<R>(selection: Selection<R>, row: number, column: number): boolean {
  if (!selection.from.value) return false;
  const { rows, columns } = rangeOf(selection);
  return row >= rows[0] && row <= rows[1] && column >= columns[0] && column <= columns[1];
}

export function select<R extends AnyRecord>(selection: Selection<R>, records: readonly R[]): void {
  selection.all.value = false;
  selection.records.value = new Map(records.map((each) => [each.id, each]));
}

export function toggle<R extends AnyRecord>(selection: Selection<R>, record: R): void {
  const next = new Map(selection.records.value);
  // While all are selected, each row is, and what is taken out is this one.
  if (!next.delete(record.id) && !selection.all.value) next.set(record.id, record);
  selection.all.value = false;
  selection.records.value = next;
}

/** Have the selected records with values that were just written. */
export function renew<R extends AnyRecord>(selection: Selection<R>, values: ReadonlyMap<number, object>): void {
  selection.records.value = new Map([...selection.records.value].map(([id, record]) => [id, { ...record, ...values.get(id) }]));
}
