/** The rows of a view: pages by cursor, loaded as they come into sight. */
import type { InfiniteData } from '@tanstack/preact-query';
import { useEffect } from 'preact/hooks';
import { call, get } from '../api';
import { queries, usePages, useRead, type Pages } from '../data';
import type { AnyRecord, Kind } from '../kinds/kind';
import { isShown, listeners, type LiveEvent } from '../stream';
import type { Page } from '../types';
import { apiQuery, type View } from './view';

export const PAGE = 100;
/** Coming back to a list within this time shows it without reading all its pages again. */
const FRESH = 30_000;

export interface Total {
  count: number;
  exact: boolean;
}

export interface Rows<R extends AnyRecord> extends Pick<Pages<R>, 'key' | 'error' | 'hasMore' | 'more' | 'refetch'> {
  kind: Kind<R>;
  view: View;
  data: readonly R[];
  isStarted: boolean;
  /** How many records match, as far as it is known. */
  total: Total | null;
  /** All rows in memory, as they are now. */
  loaded: () => R[];
  /** Replace rows that have changed. */
  change: (changed: readonly R[]) => void;
}

export function useRows<R extends AnyRecord>(kind: Kind<R>, view: View): Rows<R> {
  const query = apiQuery(view, PAGE, null);
  const pages = usePages<R>(kind.api, query, { staleTime: FRESH });
  const counted = useRead(`${kind.api}?count ${JSON.stringify([view.q, view.filters])}`, (signal) => countOf(kind, view, 'estimated', signal), { staleTime: FRESH });
  useEffect(() => void (pages.data && kind.prepare(pages.data)), [pages.data]);
  const { data = [], key } = pages;
  const rows: Rows<R> = {
    ...pages,
    kind,
    view,
    data,
    isStarted: pages.data !== undefined || pages.error !== null,
    total: pages.data && !pages.hasMore ? { count: data.length, exact: true } : (counted.data ?? null),
    loaded: () => queries.getQueryData<InfiniteData<Page<R>>>(key)?.pages.flatMap((each) => each.data) ?? [],
    change: (changed) => {
      const byId = new Map(changed.map((each) => [each.id, each]));
      queries.setQueryData<InfiniteData<Page<R>>>(key, (old) => old && { ...old, pages: old.pages.map((page) => ({ ...page, data: page.data.map((each) => byId.get(each.id) ?? each) })) });
    },
  };
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
