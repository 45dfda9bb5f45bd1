/** Reading from the API: one cache for all screens. What is in it is shown at once and read again behind it. */
import { QueryClient, useInfiniteQuery, useQuery, type InfiniteData, type UseQueryOptions, type UseQueryResult } from '@tanstack/preact-query';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { get, Problem } from './api';
import { client, type Query } from './route';
import type { Page } from './types';

const MINUTE = 60_000;

/** Whether a request that failed may succeed a moment later: no response, or a proxy's. */
function mayPass(problem: unknown): boolean {
  return problem instanceof Problem && [0, 502, 503, 504].includes(problem.status);
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      gcTime: 30 * MINUTE,
      // A server on this machine needs no network.
      networkMode: 'always',
      // The stream says what changed; a list does not move because a window got the focus.
      refetchOnWindowFocus: false,
      retry: (failures, problem) => failures < 2 && mayPass(problem),
    },
  },
});

type Options<T> = Omit<UseQueryOptions<T, Problem>, 'queryKey' | 'queryFn'>;

/** Read a value for a key, which is a path of the API where it can be; another key shows nothing old. */
export function useRead<T>(key: string, read: (signal: AbortSignal) => Promise<T>, options: Options<T> = {}): UseQueryResult<T, Problem> {
  return useQuery<T, Problem>({ queryKey: [client.value, key], queryFn: ({ signal }) => read(signal), ...options });
}

/** Read a path of the API. */
export function useGet<T>(path: string, query: Record<string, string> = {}, options: Options<T> = {}): UseQueryResult<T, Problem> {
  return useRead<T>(keyOf(path, query), (signal) => get<T>(path, query, signal), options);
}

export interface Pages<T> {
  key: readonly unknown[];
  /** Undefined until the first page is there. */
  data: readonly T[] | undefined;
  hasMore: boolean;
  error: Problem | null;
  more: () => void;
  refetch: () => void;
}

interface PageOptions<T> {
  /** In place of the path's own response. */
  read?: (query: Query, signal: AbortSignal) => Promise<Page<T>>;
  staleTime?: number;
  refetchInterval?: number | ((pages: readonly Page<T>[]) => number | false);
}

/** Read a list page by page, each added to those before. */
export function usePages<T>(path: string, query: Query, { read, staleTime = 0, refetchInterval = 0 }: PageOptions<T> = {}): Pages<T> {
  const key = [client.value, keyOf(path, query)];
  const found = useInfiniteQuery<Page<T>, Problem, InfiniteData<Page<T>>, readonly unknown[], string | null>({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => {
      const asked = pageParam === null ? query : [...pairsOf(query), ['cursor', pageParam] as const];
      return read ? read(asked, signal) : get<Page<T>>(path, asked, signal);
    },
    staleTime,
    initialPageParam: null,
    getNextPageParam: (last) => last.next_cursor,
    refetchInterval: (of) => (typeof refetchInterval === 'number' ? refetchInterval || false : refetchInterval(of.state.data?.pages ?? [])),
  });
  const data = useMemo(() => found.data?.pages.flatMap((each) => each.data), [found.data]);
  return { key, data, hasMore: found.hasNextPage, error: found.error, more: () => void found.fetchNextPage({ cancelRefetch: false }), refetch: () => void found.refetch() };
}

function pairsOf(query: Query): readonly (readonly [string, string])[] {
  return Symbol.iterator in query ? [...query] : Object.entries(query);
}

/** The key of what a request reads. */
export function keyOf(path: string, query: Query): string {
  return `${path}?${pairsOf(query).map((each) => each.join('=')).join('&')}`;
}

/** Read again what was read from these paths, also what begins with them. */
export function readAgain(...paths: readonly string[]): Promise<void> {
  return queries.invalidateQueries({ predicate: ({ queryKey: [, key] }) => typeof key === 'string' && paths.some((path) => key.startsWith(path)) });
}

/** A value that follows another one after it has rested. */
export function useRested<T>(value: T, milliseconds: number): T {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return rested;
}
