/** Searching duplicates: each page of the API reads a bounded number of records and may be empty, so one goes on until enough are found. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, get, type Problem } from '../api';
import type { AnyRecord, Kind } from '../kinds/kind';
import type { Page } from '../types';
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
}

/** Search pairs that pass a test, of all clients or of that of the scope; another key starts again. */
export function usePairs<R extends AnyRecord>(kind: Kind<R>, isAll: boolean, key: string, minimum: string, passes: (pair: Pair<R>) => boolean): Search<R> {
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
          const read: Read<R> = await readPage(kind, isAll, next, minimum, signal);
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

function pairOf<R extends AnyRecord>(found: FoundPair<R>, kind: Kind<R>): Pair<R>[] {
  const [one, other] = found[kind.many] ?? [];
  return one && other ? [{ score: found.score, reasons: found.reasons, one, other, of: found.client_id }] : [];
}
