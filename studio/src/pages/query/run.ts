// Sends queries and mutations, and brings their answers into one shape.
import { api, ask } from '../../lib/api/client';
import { type Point, target } from '../../lib/point';
import type { Row } from '../../components/DataTable';

export interface Outcome {
  columns: string[];
  rows: Row[];
  commit: string | null;
  ms: number;
  text: string; // empty for a stored query
  params?: Record<string, unknown>;
  written?: { nodes: number; edges: number };
}

// Integers that JavaScript would round arrive as text.
const PREFER = 'int64=string';

export async function runQuery(graph: string, query: string, params: Record<string, unknown>, point: Point, signal: AbortSignal): Promise<Outcome> {
  const request = api.POST('/graphs/{graph_id}/query', { params: { path: { graph_id: graph }, header: { Prefer: PREFER } }, body: { query, params, ...target(point) }, signal });
  const found = await ask(request);
  const rows = found.rows as Row[];
  return { columns: found.columns ?? Object.keys(rows[0] ?? {}), rows, commit: found.graph_commit_id ?? null, ms: 0, text: query, params };
}

export async function runMutation(graph: string, query: string, params: Record<string, unknown>, point: Point, signal: AbortSignal): Promise<Outcome> {
  if (point.kind !== 'branch') throw new Error('Choose a branch: a commit, a tag or an instant cannot be changed.');
  const found = await ask(api.POST('/graphs/{graph_id}/mutate', { params: { path: { graph_id: graph } }, body: { query, params, branch: point.name }, signal }));
  const written = { nodes: found.affected_nodes, edges: found.affected_edges };
  return { columns: [], rows: [], commit: found.commit?.graph_commit_id ?? null, ms: 0, text: query, written };
}

export async function runStored(graph: string, name: string, params: Record<string, unknown>, point: Point, signal: AbortSignal): Promise<Outcome> {
  const found = await ask(api.POST('/graphs/{graph_id}/queries/{name}', { params: { path: { graph_id: graph, name }, header: { Prefer: PREFER } }, body: { params, ...target(point) }, signal }));
  if (!('rows' in found)) return { columns: [], rows: [], commit: found.commit?.graph_commit_id ?? null, ms: 0, text: '', written: { nodes: found.affected_nodes, edges: found.affected_edges } };
  const rows = found.rows as Row[];
  return { columns: found.columns ?? Object.keys(rows[0] ?? {}), rows, commit: found.graph_commit_id ?? null, ms: 0, text: '' };
}
