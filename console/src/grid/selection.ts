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
}

export function newSelection<R extends AnyRecord>(): Selection<R> {
  return { records: signal(new Map()), all: signal(false), at: signal(-1) };
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
