/** The rows of a view: pages by cursor, loaded as they come into sight, and let go far from it. */
import { signal } from '@preact/signals';
import { asProblem, call, get, type Problem } from '../api';
import type { AnyRecord, Kind } from '../kinds/kind';
import type { Page } from '../types';
import { apiQuery, type View } from './view';

export const PAGE = 100;
/** Pages in memory on each side of what is in sight: a million records need no more of it than a thousand. */
const NEAR = 20;

interface Slot<R> {
  cursor: string | null;
  rows: R[] | null;
}

export interface Total {
  count: number;
  exact: boolean;
}

export class Rows<R extends AnyRecord> {
  /** Changes with each change of the rows. */
  readonly version = signal(0);
  readonly problem = signal<Problem | null>(null);
  readonly total = signal<Total | null>(null);
  readonly started = signal(false);
  private readonly slots: Slot<R>[] = [{ cursor: null, rows: null }];
  private readonly loading = new Set<number>();
  private readonly abort = new AbortController();
  private complete = false;
  private size = 0;

  constructor(readonly kind: Kind<R>, readonly view: View) {
    void this.load(0);
    void this.countAll();
  }

  /** How many rows are known: those loaded once. */
  get known(): number {
    return this.size;
  }

  get isComplete(): boolean {
    return this.complete;
  }

  /** How many records match, as far as it is known. */
  get counted(): Total | null {
    return this.complete ? { count: this.size, exact: true } : this.total.value;
  }

  row(index: number): R | null {
    return this.slots[Math.floor(index / PAGE)]?.rows?.[index % PAGE] ?? null;
  }

  /** Have the rows from `first` to `last` loaded, and those after them soon. */
  ensure(first: number, last: number): void {
    const from = Math.floor(first / PAGE);
    const to = Math.floor((last + PAGE) / PAGE);
    for (let n = from; n <= to && n < this.slots.length; n++) if (!this.slots[n]?.rows) void this.load(n);
    this.slots.forEach((slot, n) => {
      if (slot.rows && (n < from - NEAR || n > to + NEAR)) slot.rows = null;
    });
  }

  /** Replace rows that have changed. */
  change(changed: readonly R[]): void {
    const byId = new Map(changed.map((each) => [each.id, each]));
    for (const slot of this.slots) if (slot.rows) slot.rows = slot.rows.map((each) => byId.get(each.id) ?? each);
    this.version.value++;
  }

  /** All rows in memory. */
  loaded(): R[] {
    return this.slots.flatMap((slot) => slot.rows ?? []);
  }

  retry(): void {
    this.problem.value = null;
    this.slots.forEach((slot, n) => slot.rows || void this.load(n));
  }

  stop(): void {
    this.abort.abort();
  }

  private async load(n: number): Promise<void> {
    const slot = this.slots[n];
    if (!slot || this.loading.has(n)) return;
    this.loading.add(n);
    try {
      const page = await get<Page<R>>(this.kind.api, apiQuery(this.view, PAGE, slot.cursor), this.abort.signal);
      slot.rows = page.data;
      if (n === this.slots.length - 1 && !this.complete) {
        this.size += page.data.length;
        if (page.next_cursor) this.slots.push({ cursor: page.next_cursor, rows: null });
        else this.complete = true;
      }
      this.problem.value = null;
      void this.kind.prepare(page.data);
    } catch (error) {
      if (!this.abort.signal.aborted) this.problem.value = asProblem(error);
    } finally {
      this.loading.delete(n);
    }
    if (this.abort.signal.aborted) return;
    this.started.value = true;
    this.version.value++;
  }

  private async countAll(): Promise<void> {
    try {
      this.total.value = await countOf(this.kind, this.view, 'estimated', this.abort.signal);
    } catch {
      // The list says what is wrong.
    }
  }
}

/** Count the records of a view. */
export async function countOf(kind: { api: string }, view: View, how: 'estimated' | 'exact', signal?: AbortSignal): Promise<Total | null> {
  const query = apiQuery({ ...view, sort: '' }, 1, null);
  const { headers } = await call('GET', kind.api, { query, headers: { prefer: `count=${how}` }, signal });
  const count = headers.get('total-count');
  return count === null ? null : { count: Number(count), exact: headers.get('preference-applied') === 'count=exact' };
}
