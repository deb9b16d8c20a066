// Changes that come in pages: the first is loaded at once, further ones on demand.
import { useEffect, useState } from 'react';
import type { Change } from '../../components/Changes';
import { useAsync } from '../../lib/useAsync';

export interface PageOf<T> {
  changes: Change[];
  next: string | undefined;
  about: T;
}

export function useChanges<T>(load: (token: string | undefined, signal: AbortSignal) => Promise<PageOf<T>>, deps: unknown[]) {
  const first = useAsync((signal) => load(undefined, signal), deps);
  const [further, setFurther] = useState<PageOf<T>[]>([]);
  const [failed, setFailed] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    setFurther([]);
    setFailed(null);
  }, [first.data]);
  const last = further.at(-1) ?? first.data;
  const more = async () => {
    setBusy(true);
    try {
      const page = await load(last?.next, new AbortController().signal);
      setFurther((before) => [...before, page]);
    } catch (error) {
      setFailed(error);
    } finally {
      setBusy(false);
    }
  };
  const changes = first.data ? [first.data, ...further].flatMap((each) => each.changes) : [];
  return { first, changes, more: last?.next ? more : undefined, busy, failed };
}
