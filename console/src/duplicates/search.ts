/** Searching duplicates: each page of the API reads a bounded number of records and may be empty, so one goes on until enough are found. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, call, get, type Problem } from '../api';
import type { AnyRecord, Kind } from '../kinds/kind';
import { client } from '../route';
import { session } from '../session';
import type { Page, Schemas } from '../types';
import { asClient } from '../ui/client-chip';
import type { FoundPair, Pair } from './types';

const ENOUGH = 20;
/** Requests until one is asked whether to go on; each reads some hundred records, of all clients together up to 25 clients. */
const REQUESTS = 25;

interface State<R extends AnyRecord> {
  key: string;
  pairs: Pair<R>[];
  /** The cursor of the next page: blank for the first, null after the last. */
  next: string | null;
  loading: boolean;
  problem: Problem | null;
}

export interface Search<R extends AnyRecord> extends State<R> {
  more: () => void;
  reload: () => void;
  /** Leave out pairs with a record that was merged into another one. */
  without: (id: number) => void;
  /** Leave out a pair. */
  leave: (pair: Pair<R>) => void;
}

/**
 * Search pairs that pass a test, of all clients or of that of the scope; another key starts again.
 * `distinctOf`: Instead, list the pairs that somebody said are not the same, one client after the other (undefined: that of the scope).
 */
export function usePairs<R extends AnyRecord>(kind: Kind<R>, isAll: boolean, key: string, minimum: string, passes: (pair: Pair<R>) => boolean, distinctOf: readonly (string | undefined)[] | false): Search<R> {
  const nothing: State<R> = { key, pairs: [], next: null, loading: true, problem: null };
  const [state, setState] = useState(nothing);
  const [round, setRound] = useState(0);
  const abort = useRef(new AbortController());
  const search = useCallback(
    async (from: string, before: Pair<R>[]) => {
      const { signal } = abort.current;
      let next: string | null = from;
      const pairs = [...before];
      setState({ key, pairs, next, loading: true, problem: null });
      try {
        for (let n = 0; next !== null && n < REQUESTS && pairs.length < before.length + ENOUGH; n++) {
          const read: Read<R> = await (distinctOf ? readDistinct(kind, distinctOf, next, signal) : readPage(kind, isAll, next, minimum, signal));
          pairs.push(...read.pairs.filter(passes));
          next = read.next;
          if (signal.aborted) return;
          setState({ key, pairs: [...pairs], next, loading: true, problem: null });
        }
        setState({ key, pairs: [...pairs], next, loading: false, problem: null });
      } catch (error) {
        if (!signal.aborted) setState({ key, pairs: [...pairs], next, loading: false, problem: asProblem(error) });
      }
    },
    [key],
  );
  useEffect(() => {
    abort.current = new AbortController();
    void search('', []);
    return () => abort.current.abort();
  }, [search, round]);
  const shown = state.key === key ? state : nothing;
  return {
    ...shown,
    more: () => void (shown.next && !shown.loading && search(shown.next, shown.pairs)),
    reload: () => setRound((n) => n + 1),
    without: (id) => setState((old) => ({ ...old, pairs: old.pairs.filter((each) => each.one.id !== id && each.other.id !== id) })),
    leave: (pair) => setState((old) => ({ ...old, pairs: old.pairs.filter((each) => each !== pair) })),
  };
}

interface Read<R extends AnyRecord> {
  pairs: readonly Pair<R>[];
  next: string | null;
}

async function readPage<R extends AnyRecord>(kind: Kind<R>, isAll: boolean, cursor: string, minimum: string, signal: AbortSignal): Promise<Read<R>> {
  const query = { structure: 'FLAT', min_score: minimum, limit: String(ENOUGH), ...(cursor && { cursor }) };
  const page = await get<Page<FoundPair<R>>>(isAll ? `/team/v1/${kind.many}/duplicates` : `${kind.api}/duplicates`, query, signal);
  const pairs = page.data.flatMap((each) => pairOf(each, kind));
  for (const of of new Set(pairs.map((each) => each.of))) {
    await kind.prepare(pairs.filter((each) => each.of === of).flatMap((each) => [each.one, each.other]), of);
  }
  return { pairs, next: page.next_cursor };
}

/** A page of pairs that somebody said are not the same; `from` is the number of a client and a cursor of its list. */
async function readDistinct<R extends AnyRecord>(kind: Kind<R>, clients: readonly (string | undefined)[], from: string, signal: AbortSignal): Promise<Read<R>> {
  const at = parseInt(from || '0');
  const cursor = from.slice(from.indexOf(' ') + 1);
  const of = clients[at];
  const page = await get<Page<Schemas['DistinctPairOut']>>(distinctPath(kind.many, of), { limit: String(ENOUGH), ...(cursor && { cursor }) }, signal);
  const ids = [...new Set(page.data.flatMap((each) => each.ids))];
  const query = { 'id[in]': ids.join(','), structure: 'FLAT', limit: String(2 * ENOUGH) };
  const records = ids.length ? (await call<Page<R>>('GET', kind.api, { ...asClient(of), query, signal })).data.data : [];
  await kind.prepare(records, of);
  const pairs = page.data.flatMap((each) => {
    const [one, other] = each.ids.map((id) => records.find((record) => record.id === id));
    return one && other ? [{ score: 0, reasons: [], one, other, of }] : [];
  });
  return { pairs, next: page.next_cursor ? `${at} ${page.next_cursor}` : at + 1 < clients.length ? `${at + 1} ` : null };
}

function distinctPath(many: string, of: string | undefined): string {
  return `/team/v1/distinct-pairs/${encodeURIComponent(of || client.value || session.value?.client_id || 'default')}/${many}`;
}

/** Say for everybody that two records are not the same, or take that back. */
export async function setDistinct(many: string, { one, other, of }: Pick<Pair<AnyRecord>, 'one' | 'other' | 'of'>, are: boolean): Promise<void> {
  if (are) await call('POST', distinctPath(many, of), { body: { ids: [one.id, other.id] } });
  else await call('DELETE', `${distinctPath(many, of)}/${one.id}/${other.id}`);
}

function pairOf<R extends AnyRecord>(found: FoundPair<R>, kind: Kind<R>): Pair<R>[] {
  const [one, other] = found[kind.many] ?? [];
  return one && other ? [{ score: found.score, reasons: found.reasons, one, other, of: found.client_id }] : [];
}
