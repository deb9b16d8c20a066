// What every page knows about the graph it shows: its id, what the sender may do, its branches, tags and schema.
import { createContext, useContext, useMemo, type ReactNode } from 'react';
import { api, ask, type Schemas } from './api/client';
import { type Point, target, usePoint } from './point';
import { parseSchema, type GraphSchema } from './schema';
import { type Async, useAsync } from './useAsync';

export type Action = 'read' | 'export' | 'change' | 'schema_apply' | 'branch_create' | 'branch_delete' | 'branch_merge' | 'admin' | 'invoke_query';

export interface GraphContext {
  id: string;
  branches: Async<string[]>;
  tags: Async<Schemas['TagOutput'][]>;
}

const Context = createContext<GraphContext | null>(null);

export function GraphProvider({ id, children }: { id: string; children: ReactNode }) {
  const branches = useAsync(async (signal) => (await ask(api.GET('/graphs/{graph_id}/branches', { params: { path: { graph_id: id } }, signal }))).branches, [id]);
  const tags = useAsync(async (signal) => (await ask(api.GET('/graphs/{graph_id}/tags', { params: { path: { graph_id: id } }, signal }))).tags, [id]);
  const value = useMemo(() => ({ id, branches, tags }), [id, branches, tags]);
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

export function useGraph(): GraphContext {
  const found = useContext(Context);
  if (!found) throw new Error('no graph is chosen');
  return found;
}

/** What the policy allows on a branch. Until it is known, nothing: a button must not appear and then vanish. */
export function usePermissions(branch: string): { may: (action: Action) => boolean; restricted: boolean; declared: boolean; actor: string | null; known: boolean; failed: unknown } {
  const { id } = useGraph();
  const found = useAsync((signal) => ask(api.GET('/graphs/{graph_id}/permissions', { params: { path: { graph_id: id }, query: { branch } }, signal })), [id, branch]);
  const actions = found.data?.actions;
  return {
    may: (action) => actions?.includes(action) ?? false,
    restricted: found.data?.restricted ?? false,
    declared: found.data?.schema_declared ?? false,
    actor: found.data?.actor_id ?? null,
    known: found.data !== undefined,
    failed: found.error,
  };
}

/** The schema at a point, as text and as types. */
export function useSchema(point?: Point): Async<GraphSchema> {
  const { id } = useGraph();
  const [shown] = usePoint();
  const { branch, snapshot } = target(point ?? shown);
  return useAsync(
    async (signal) => parseSchema((await ask(api.GET('/graphs/{graph_id}/schema', { params: { path: { graph_id: id }, query: { branch, snapshot } }, signal }))).schema_source),
    [id, branch, snapshot],
  );
}
