/** Searching duplicates: each page of the API reads a bounded number of records and may be empty, so one goes on until enough are found. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, get, type Problem } from '../api';
import type { AnyRecord, Kind } from '../kinds/kind';
import type { Page } from '../types';
import type { FoundPair, Pair } from './types';

const ENOUGH = 20;
/** Requests until one is asked whether to go on; each reads some hundred records. */
const REQUESTS = 25;

interface State<R extends AnyRecord> {
  key: string;
  pairs: Pair<R>[];
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

/** Search pairs that pass a test; another key starts again. */
export function usePairs<R extends AnyRecord>(kind: Kind<R>, key: string, minimum: string, passes: (pair: Pair<R>) => boolean): Search<R> {
  const nothing: State<R> = { key, pairs: [], next: null, loading: true, problem: null };
  const [state, setState] = useState(nothing);
  const [round, setRound] = useState(0);
  const abort = useRef(new AbortController());
  const search = useCallback(
    async (from: string | null, before: Pair<R>[]) => {
      const { signal } = abort.current;
      let next = from;
      const pairs = [...before];
      setState({ key, pairs, next, loading: true, problem: null });
      try {
        for (let n = 0; n < REQUESTS && pairs.length < before.length + ENOUGH; n++) {
          const page: Page<FoundPair<R>> = await get<Page<FoundPair<R>>>(`${kind.api}/duplicates`, { structure: 'FLAT', min_score: minimum, limit: String(ENOUGH), ...(next && { cursor: next }) }, signal);
          const found = page.data.flatMap((each) => pairOf(each, kind)).filter(passes);
          await kind.prepare(found.flatMap((each) => [each.one, each.other]));
          pairs.push(...found);
          next = page.next_cursor;
          if (signal.aborted) return;
          setState({ key, pairs: [...pairs], next, loading: true, problem: null });
          if (!next) break;
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
    void search(null, []);
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

function pairOf<R extends AnyRecord>(of: FoundPair<R>, kind: Kind<R>): Pair<R>[] {
  const [one, other] = of[kind.many] ?? [];
  return one && other ? [{ score: of.score, reasons: of.reasons, one, other }] : [];
}
