// Data that a component waits for, with its states; a newer request cancels an older one.
import { useCallback, useEffect, useMemo, useRef, useState, type DependencyList } from 'react';

export interface Async<T> {
  data: T | undefined;
  error: unknown;
  loading: boolean;
  reload: () => void;
}

export function useAsync<T>(load: (signal: AbortSignal) => Promise<T>, deps: DependencyList): Async<T> {
  const [state, setState] = useState<{ data?: T; error?: unknown; loading: boolean }>({ loading: true });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const control = new AbortController();
    setState((before) => ({ data: before.data, loading: true }));
    latest.current(control.signal).then(
      (data) => control.signal.aborted || setState({ data, loading: false }),
      (error: unknown) => control.signal.aborted || setState({ error, loading: false }),
    );
    return () => control.abort();
  }, [turn, ...deps]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return useMemo(() => ({ data: state.data, error: state.error, loading: state.loading, reload }), [state, reload]);
}
