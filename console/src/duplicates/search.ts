/** Searching duplicates: each page of the API reads a bounded number of records and may be empty, so one goes on until enough are found. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, call, type Problem } from '../api';
import type { AnyRecord, Kind } from '../kinds/kind';
import type { Page } from '../types';
import { asClient } from '../ui/client-chip';
import type { FoundPair, Pair } from './types';

const START = { at: 0, cursor: null };
const ENOUGH = 20;
/** Requests until one is asked whether to go on; each reads some hundred records. */
const REQUESTS = 25;

/** Where a search goes on: with which of its clients, and behind which page. */
interface Place {
  at: number;
  cursor: string | null;
}

interface State<R extends AnyRecord> {
  key: string;
  pairs: Pair<R>[];
  next: Place | null;
  loading: boolean;
  problem: Problem | null;
}

export interface Search<R extends AnyRecord> extends State<R> {
  more: () => void;
  reload: () => void;
  /** Leave out pairs with a record that was merged into another one. */
  without: (id: number) => void;
}

/** Search pairs that pass a test, one client after the other (undefined: that of the scope); another key starts again. */
export function usePairs<R extends AnyRecord>(kind: Kind<R>, clients: readonly (string | undefined)[], key: string, minimum: string, passes: (pair: Pair<R>) => boolean): Search<R> {
  const nothing: State<R> = { key, pairs: [], next: null, loading: true, problem: null };
  const [state, setState] = useState(nothing);
  const [round, setRound] = useState(0);
  const abort = useRef(new AbortController());
  const search = useCallback(
    async (from: Place, before: Pair<R>[]) => {
      const { signal } = abort.current;
      let next: Place | null = from;
      const pairs = [...before];
      setState({ key, pairs, next, loading: true, problem: null });
      try {
        for (let n = 0; next && n < REQUESTS && pairs.length < before.length + ENOUGH; n++) {
          const read: Read<R> = await readPage(kind, clients, next, minimum, signal);
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
    void search(START, []);
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
  next: Place | null;
}

async function readPage<R extends AnyRecord>(kind: Kind<R>, clients: readonly (string | undefined)[], { at, cursor }: Place, minimum: string, signal: AbortSignal): Promise<Read<R>> {
  const of = clients[at];
  const query = { structure: 'FLAT', min_score: minimum, limit: String(ENOUGH), ...(cursor && { cursor }) };
  const { data: page } = await call<Page<FoundPair<R>>>('GET', `${kind.api}/duplicates`, { ...asClient(of), query, signal });
  const pairs = page.data.flatMap((each) => pairOf(each, kind, of));
  await kind.prepare(pairs.flatMap((each) => [each.one, each.other]), of);
  return { pairs, next: page.next_cursor ? { at, cursor: page.next_cursor } : at + 1 < clients.length ? { at: at + 1, cursor: null } : null };
}

function pairOf<R extends AnyRecord>(found: FoundPair<R>, kind: Kind<R>, of: string | undefined): Pair<R>[] {
  const [one, other] = found[kind.many] ?? [];
  return one && other ? [{ score: found.score, reasons: found.reasons, one, other, of }] : [];
}
