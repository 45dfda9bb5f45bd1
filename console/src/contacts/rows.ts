/** The rows of a view: pages by cursor, loaded as they come into sight, and let go far from it. */
import { signal } from '@preact/signals';
import { asProblem, call, get, type Problem } from '../api';
import type { Company, Contact, Page } from '../types';
import { apiQuery, type View } from './view';

export const PAGE = 100;
/** Pages in memory on each side of what is in sight: a million contacts need no more of it than a thousand. */
const NEAR = 20;

interface Slot {
  cursor: string | null;
  rows: Contact[] | null;
}

/** Companies by id, shared by all views of the client. */
export const companies = signal<ReadonlyMap<number, Company>>(new Map());

export class Rows {
  /** Changes with each change of the rows. */
  readonly version = signal(0);
  readonly problem = signal<Problem | null>(null);
  readonly total = signal<{ count: number; exact: boolean } | null>(null);
  readonly started = signal(false);
  private readonly slots: Slot[] = [{ cursor: null, rows: null }];
  private readonly loading = new Set<number>();
  private readonly abort = new AbortController();
  private complete = false;
  private size = 0;

  constructor(readonly view: View) {
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

  row(index: number): Contact | null {
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
  change(changed: readonly Contact[]): void {
    const byId = new Map(changed.map((each) => [each.id, each]));
    for (const slot of this.slots) if (slot.rows) slot.rows = slot.rows.map((each) => byId.get(each.id) ?? each);
    this.version.value++;
  }

  /** All rows in memory. */
  loaded(): Contact[] {
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
      const page = await get<Page<Contact>>('/public/v2/contacts', apiQuery(this.view, PAGE, slot.cursor), this.abort.signal);
      slot.rows = page.data;
      if (n === this.slots.length - 1 && !this.complete) {
        this.size += page.data.length;
        if (page.next_cursor) this.slots.push({ cursor: page.next_cursor, rows: null });
        else this.complete = true;
      }
      this.problem.value = null;
      void loadCompanies(page.data);
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
      const query = apiQuery({ ...this.view, sort: '' }, 1, null);
      const { headers } = await call('GET', '/public/v2/contacts', { query, headers: { prefer: 'count=estimated' }, signal: this.abort.signal });
      const count = headers.get('total-count');
      if (count !== null) this.total.value = { count: Number(count), exact: headers.get('preference-applied') === 'count=exact' };
    } catch {
      // The list says what is wrong.
    }
  }
}

/** Load the names of the companies of these contacts that are not known yet. */
export async function loadCompanies(of: readonly { company_id?: number }[]): Promise<void> {
  const known = companies.peek();
  const ids = [...new Set(of.map((each) => each.company_id).filter((id) => id !== undefined))].filter((id) => !known.has(id));
  if (!ids.length) return;
  try {
    const page = await get<Page<Company>>('/public/v2/companies', { 'id[in]': ids.join(','), fields: 'name,domain', limit: '200' });
    companies.value = new Map([...companies.peek(), ...page.data.map((each) => [each.id, each] as const)]);
  } catch {
    // The cells stay empty; the contacts are there.
  }
}
