/** The rows of a view: pages by their number, loaded as they come into sight and let go some time after they left it. */
import { useQueries } from '@tanstack/preact-query';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { call, get, Problem } from '../api';
import { keyOf, queries, useRead } from '../data';
import type { AnyRecord, Kind } from '../kinds/kind';
import { client } from '../route';
import { isShown, listeners, type LiveEvent } from '../stream';
import type { Page } from '../types';
import { toast } from '../ui/toast';
import { apiQuery, type View } from './view';

export const PAGE = 100;
/** Characters of a text in a list; the rest of a longer one is not sent. */
export const CUT = 200;
/** Coming back to a list within this time shows it without reading its pages again. */
const FRESH = 30_000;
/** How long a page stays that is out of sight. */
const GONE = 120_000;

export interface Total {
  count: number;
  exact: boolean;
}

interface RankedPage<R> extends Page<R> {
  rank?: number;
  total?: number;
  previous_cursor?: string | null;
}

/** What the pages that were read say of the whole list. */
interface Extent {
  total: Total | null;
  /** When that was learnt. */
  at: number;
  /** Pages from the first one on that are known to be there. */
  pages: number;
  /** Whether any page can be read; else each is read after the one before. */
  isWhole: boolean;
}

const UNKNOWN: Extent = { total: null, at: 0, pages: 0, isWhole: true };

export interface Rows<R extends AnyRecord> {
  kind: Kind<R>;
  view: View;
  /** Which records these are, in which order. */
  list: string;
  isStarted: boolean;
  error: Problem | null;
  /** How many records match, as far as it is known. */
  total: Total | null;
  /** Rows that can be scrolled to. */
  count: number;
  at: (index: number) => R | undefined;
  /** The place of a record among the rows in memory; -1 for none. */
  indexOf: (id: number) => number;
  /** Have the rows from one index to another, the pages of which come. */
  need: (first: number, last: number) => void;
  /** Read the rows from one index to another. */
  read: (first: number, last: number) => Promise<R[]>;
  /** Find out where the last row is. */
  end: () => Promise<number>;
  /** All rows in memory, as they are now. */
  loaded: () => R[];
  /** Replace rows that have changed. */
  change: (changed: readonly R[]) => void;
  refetch: () => void;
}

/** The members that the rows of a view have: what its columns show, and what can be done with a row needs. */
function fieldsOf<R extends AnyRecord>(kind: Kind<R>, view: View): string {
  const all = `${kind.one}_custom_fields`;
  const hasColumn = (key: string) => key.startsWith('cf.') || kind.columns.some((each) => each.key === key && each.isMember !== false);
  const shown = view.columns.filter(hasColumn).map((key) => (key.includes(',') ? all : key));
  return [...new Set([...kind.inLists, ...shown])].join();
}

export function useRows<R extends AnyRecord>(kind: Kind<R>, view: View, begin = 0): Rows<R> {
  const matching = apiQuery(view, PAGE, null);
  const query: [string, string][] = [...matching, ['fields', fieldsOf(kind, view)], ['cut', String(CUT)]];
  const key = [client.value, keyOf(kind.api, query)] as const;
  const list = `${client.value} ${keyOf(kind.api, matching)}`;
  const extentKey = [...key, 'extent'];
  const extentOf = () => queries.getQueryData<Extent>(extentKey) ?? UNKNOWN;
  const learn = (more: Partial<Extent>) => queries.setQueryData(extentKey, { ...extentOf(), ...more, ...(more.total && { at: Date.now() }) });
  const inMemory = (number: number) => queries.getQueryData<RankedPage<R>>([...key, number]);

  const [range, setRange] = useState({ list, pages: [Math.floor(begin / PAGE)] });
  const extent = extentOf();
  const counted = useRead(`${kind.api}?count ${JSON.stringify([view.q, view.filters])}`, (signal) => countOf(kind, view, 'estimated', signal), { staleTime: FRESH });
  const isNewer = !counted.data || extent.at >= counted.dataUpdatedAt || (extent.total?.exact && !counted.data.exact);
  const total = extent.total && isNewer ? extent.total : (counted.data ?? null);

  const optionsOf = (number: number) => ({ queryKey: [...key, number], queryFn: ({ signal }: { signal: AbortSignal }) => readPage(number, signal), staleTime: FRESH, gcTime: GONE });
  // A view that was just chosen begins at its top.
  const wanted = range.list === list ? range.pages : [0];
  const pages = useQueries({ queries: wanted.map(optionsOf) });

  /** Read a page by the cursor of a neighbour, else by its place. */
  async function readPage(number: number, signal?: AbortSignal): Promise<RankedPage<R>> {
    const cursor = inMemory(number - 1)?.next_cursor ?? inMemory(number + 1)?.previous_cursor;
    const read = (...more: [string, string][]) => get<RankedPage<R>>(kind.api, [...query, ...more], signal);
    const page = number === 0 ? await read() : cursor ? await read(['cursor', cursor]) : await jump(number, read);
    const known = extentOf();
    const behind = number * PAGE + page.data.length;
    const isBeyond = page.next_cursor !== null && (known.total?.count ?? Infinity) <= behind;
    if (page.next_cursor === null && (page.data.length || !number)) learn({ total: { count: behind, exact: true } });
    else if (isBeyond) learn({ total: { count: behind + 1, exact: false } });
    if (page.data.length || !number) learn({ pages: Math.max(known.pages, number + 1) });
    await kind.prepare(page.data);
    return page;
  }

  async function jump(number: number, read: (...more: [string, string][]) => Promise<RankedPage<R>>): Promise<RankedPage<R>> {
    const share = (of: number): [string, string] => ['at', String(Math.min(number * PAGE, of - 1) / of)];
    try {
      const of = (extentOf().total ?? (await countOf(kind, view, 'estimated')))?.count;
      if (extentOf().isWhole && of) {
        let page = await read(share(of));
        const { total: exact = 0 } = page;
        if (page.rank !== number * PAGE && exact > number * PAGE) page = await read(share(exact));
        learn({ total: { count: exact, exact: true } });
        return exact > number * PAGE ? page : { data: [], next_cursor: null };
      }
    } catch (error) {
      if (!(error instanceof Problem && error.body.errors?.some((each) => each.pointer === '?at'))) throw error;
      learn({ isWhole: false });
      toast(`These ${kind.many} come page by page in this order: too many match to jump among them. Filter them, or sort by “Changed”.`);
    }
    if (number > extentOf().pages) return { data: [], next_cursor: null };
    const { next_cursor: cursor } = await queries.fetchQuery(optionsOf(number - 1));
    return cursor ? read(['cursor', cursor]) : { data: [], next_cursor: null };
  }

  const inOrder = () => queries.getQueriesData<RankedPage<R>>({ queryKey: key }).flatMap(([[, , number], page]) => (typeof number === 'number' && page ? [{ number, page }] : [])).sort((a, b) => a.number - b.number);
  const error = (pages.find((each) => each.error)?.error as Problem | undefined) ?? null;
  const isStarted = extent.pages > 0 || error !== null;
  const isKnown = total !== null && (total.exact || extent.isWhole);
  const rows: Rows<R> = {
    kind, view, list, total, error, isStarted,
    count: error && !extent.pages ? 0 : isStarted && isKnown ? total.count : (extent.pages + 1) * PAGE,
    at: (index) => inMemory(Math.floor(index / PAGE))?.data[index % PAGE],
    indexOf: (id) => inOrder().map(({ number, page }) => ({ number, at: page.data.findIndex((each) => each.id === id) })).filter(({ at }) => at >= 0).map(({ number, at }) => number * PAGE + at)[0] ?? -1,
    need: (first, last) => {
      const [from, to] = [Math.floor(Math.max(0, first) / PAGE), Math.floor(Math.max(0, last) / PAGE)];
      const next = Array.from({ length: to - from + 1 }, (_, n) => from + n);
      if (range.list !== list || next.join() !== range.pages.join()) setRange({ list, pages: next });
    },
    read: async (first, last) => {
      const found: R[] = [];
      for (let number = Math.floor(first / PAGE); number <= Math.floor(last / PAGE); number += 1) {
        const { data } = await queries.fetchQuery(optionsOf(number));
        found.push(...data.slice(Math.max(0, first - number * PAGE), last - number * PAGE + 1));
      }
      return found;
    },
    end: async () => {
      if (!total?.exact && extentOf().isWhole) {
        const last = await get<RankedPage<R>>(kind.api, [...matching.filter(([name]) => name !== 'limit'), ['limit', '1'], ['fields', 'id'], ['at', '1']]).catch(() => null);
        if (last?.total !== undefined) learn({ total: { count: last.total, exact: true } });
      }
      const known = extentOf();
      return (known.isWhole && known.total ? known.total.count : rows.count) - 1;
    },
    loaded: () => inOrder().flatMap(({ page }) => page.data),
    change: (changed) => {
      const byId = new Map(changed.map((each) => [each.id, each]));
      for (const { number, page } of inOrder()) {
        if (page.data.some((each) => byId.has(each.id))) queries.setQueryData([...key, number], { ...page, data: page.data.map((each) => byId.get(each.id) ?? each) });
      }
    },
    refetch: () => pages.forEach((each) => void each.refetch()),
  };
  const [, draw] = useState({});
  // Pages are read from the cache, those out of sight too: the list is drawn again when any of them changes.
  useLayoutEffect(() => queries.getQueryCache().subscribe(({ type, query: { queryKey } }) => type === 'updated' && queryKey[0] === key[0] && queryKey[1] === key[1] && draw({})), [key.join()]);
  useEffect(() => {
    // Rows that changed are read again in their places; nothing moves under the person's eyes.
    const listener = (events: readonly LiveEvent[]) => {
      const shown = events.filter(isShown);
      const changed = new Set(shown.filter((each) => each.record === kind.one).map((each) => each.record_id));
      const hasMany = shown.some((each) => each.type === 'many');
      const ids = rows.loaded().map((each) => each.id).filter((id) => hasMany || changed.has(id));
      readRows(kind, ids).then(rows.change, () => undefined);
    };
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, [key.join()]);
  return rows;
}

const READ = 200;

/** Read records by their ids. */
export async function readRows<R extends AnyRecord>(kind: Kind<R>, ids: readonly number[]): Promise<R[]> {
  const found: R[] = [];
  for (let at = 0; at < ids.length; at += READ) {
    const page = await get<Page<R>>(kind.api, { 'id[in]': ids.slice(at, at + READ).join(','), structure: 'FLAT', limit: String(READ) });
    found.push(...page.data);
  }
  return found;
}

/** Count the records of a view. */
export async function countOf(kind: { api: string }, view: View, how: 'estimated' | 'exact', signal?: AbortSignal): Promise<Total | null> {
  const query = apiQuery({ ...view, sort: '' }, 1, null);
  const { headers } = await call('GET', kind.api, { query, headers: { prefer: `count=${how}` }, signal });
  const count = headers.get('total-count');
  return count === null ? null : { count: Number(count), exact: headers.get('preference-applied') === 'count=exact' };
}
