/** Reading from the API in a component: what is there, what is on its way, and what went wrong. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, type Problem } from './api';

export interface Loaded<T> {
  value: T | undefined;
  problem: Problem | null;
  loading: boolean;
  reload: () => void;
  set: (value: T) => void;
}

interface State<T> {
  key: string;
  value: T | undefined;
  problem: Problem | null;
  loading: boolean;
}

/** Load a value for a key; another key shows nothing old. The value stays while it is loaded again. */
export function useLoad<T>(key: string, read: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<State<T>>({ key, value: undefined, problem: null, loading: true });
  const [round, setRound] = useState(0);
  const reader = useRef(read);
  reader.current = read;
  useEffect(() => {
    const abort = new AbortController();
    setState((old) => (old.key === key ? { ...old, loading: true } : { key, value: undefined, problem: null, loading: true }));
    reader.current(abort.signal).then(
      (value) => abort.signal.aborted || setState({ key, value, problem: null, loading: false }),
      (error: unknown) =>
        abort.signal.aborted || setState((old) => ({ key, value: old.key === key ? old.value : undefined, problem: asProblem(error), loading: false })),
    );
    return () => abort.abort();
  }, [key, round]);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  const set = useCallback((value: T) => setState({ key, value, problem: null, loading: false }), [key]);
  const current = state.key === key ? state : { value: undefined, problem: null, loading: true };
  return { value: current.value, problem: current.problem, loading: current.loading, reload, set };
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
