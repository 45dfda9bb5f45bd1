/** A list that is read page by page, each added to those before. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, get, type Problem } from './api';
import type { Query } from './route';
import type { Page } from './types';

export interface Pages<T> {
  /** Undefined until the first page is there. */
  data: readonly T[] | undefined;
  hasMore: boolean;
  problem: Problem | null;
  more: () => void;
  reload: () => void;
}

interface State<T> {
  key: string;
  data: T[] | undefined;
  next: string | null;
  problem: Problem | null;
}

/** Read a list; another key starts again. */
export function usePages<T>(key: string, path: string, query: Record<string, string>): Pages<T> {
  const nothing: State<T> = { key, data: undefined, next: null, problem: null };
  const [state, setState] = useState(nothing);
  const [round, setRound] = useState(0);
  const busy = useRef(false);
  const read = useCallback(
    async (cursor: string | null, signal?: AbortSignal) => {
      busy.current = true;
      try {
        const asked: Query = cursor ? { ...query, cursor } : query;
        const page = await get<Page<T>>(path, asked, signal);
        setState((old) => ({ key, data: cursor && old.key === key ? [...(old.data ?? []), ...page.data] : page.data, next: page.next_cursor, problem: null }));
      } catch (error) {
        if (!signal?.aborted) setState((old) => ({ ...(old.key === key ? old : nothing), problem: asProblem(error) }));
      }
      busy.current = false;
    },
    [key],
  );
  useEffect(() => {
    const abort = new AbortController();
    void read(null, abort.signal);
    return () => abort.abort();
  }, [read, round]);
  const shown = state.key === key ? state : nothing;
  return {
    data: shown.data,
    hasMore: shown.next !== null,
    problem: shown.problem,
    more: () => void (shown.next && !busy.current && read(shown.next)),
    reload: () => setRound((n) => n + 1),
  };
}
