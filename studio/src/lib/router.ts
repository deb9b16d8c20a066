// Where in the studio we are: #/g/<graph>/<page>?<params>. The fragment never reaches a server or its logs.
import { useMemo } from 'react';
import { Store, useStore } from './store';

export interface Place {
  graph: string | null;
  page: string;
  params: URLSearchParams;
}

const hash = new Store(location.hash);
addEventListener('hashchange', () => hash.set(location.hash));

export function parse(fragment: string): Place {
  const [path = '', query = ''] = fragment.replace(/^#/, '').split(/\?(.*)/s);
  const parts = path.split('/').filter(Boolean);
  const params = new URLSearchParams(query);
  if (parts[0] === 'g' && parts[1]) return { graph: decode(parts[1]), page: parts[2] ?? 'overview', params };
  return { graph: null, page: parts[0] ?? '', params };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function href(graph: string, page: string, params: Record<string, string | undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined && value !== '') query.set(name, value);
  const text = query.toString();
  return `#/g/${encodeURIComponent(graph)}/${page}${text ? `?${text}` : ''}`;
}

export function go(to: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', to);
  else if (location.hash !== to) history.pushState(null, '', to);
  hash.set(location.hash);
}

export function usePlace(): Place {
  const now = useStore(hash);
  return useMemo(() => parse(now), [now]);
}

export function place(): Place {
  return parse(location.hash);
}

/** Change some parameters of the present page; undefined removes one. */
export function setParams(changes: Record<string, string | undefined>, { replace = true } = {}): void {
  const { graph, page, params } = place();
  if (graph === null) return;
  const next: Record<string, string | undefined> = Object.fromEntries(params);
  go(href(graph, page, { ...next, ...changes }), { replace });
}
