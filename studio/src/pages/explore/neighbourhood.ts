// What is drawn: starting nodes and opened edge groups, read at one point of the history.
import { api, ask, ApiError, type Schemas } from '../../lib/api/client';
import { type Entity, keyOf, type NodeRef } from '../../lib/entities';
import { formatPoint, type Point, target } from '../../lib/point';

export interface Opened extends NodeRef {
  edge: string;
  direction: 'out' | 'in';
}

export type Group = Schemas['EdgeGroupOutput'];

export interface DrawnEntity extends NodeRef {
  entity: Entity;
  groups: Group[] | null; // known once its neighbours were asked for
  root: boolean;
}

export interface Picture {
  nodes: Map<string, DrawnEntity>;
  edges: Map<string, { from: string; to: string; type: string; entity: Entity }>;
  missing: NodeRef[];
}

export const MOST = 1000; // neighbours of one group that are drawn
const cache = new Map<string, Promise<Schemas['NeighbourhoodOutput'] | null>>();

export function openedKey({ type, id, edge, direction }: Opened): string {
  return `${type}/${id}/${edge}/${direction}`;
}

export async function picture(graph: string, roots: NodeRef[], opened: Opened[], point: Point, fresh: string): Promise<Picture> {
  const found: Picture = { nodes: new Map(), edges: new Map(), missing: [] };
  const looked = await Promise.all(roots.map(async (root) => [root, await neighbours(graph, root, point, fresh)] as const));
  for (const [root, seen] of looked) {
    if (seen === null) found.missing.push(root);
    else found.nodes.set(keyOf(root), { ...root, entity: seen.node, groups: seen.groups, root: true });
  }
  const groups = await Promise.all(opened.map(async (each) => [each, await neighbours(graph, each, point, fresh, each)] as const));
  // A group is drawn once its node is, whatever order they were opened in.
  let left = groups;
  for (let before = -1; left.length !== before; ) {
    before = left.length;
    left = left.filter(([each, seen]) => {
      if (!found.nodes.has(keyOf(each))) return true;
      if (seen) drawGroup(found, each, seen);
      return false;
    });
  }
  return found;
}

function drawGroup(found: Picture, from: Opened, seen: Schemas['NeighbourhoodOutput']): void {
  const here = keyOf(from);
  for (const group of seen.groups) {
    if (group.edge !== from.edge || group.direction !== from.direction) continue;
    for (const { edge, node } of group.neighbours) {
      if (!node) continue;
      const other: NodeRef = { type: typeof node['@type'] === 'string' ? node['@type'] : group.type, id: String(node.id) };
      const there = keyOf(other);
      if (!found.nodes.has(there)) found.nodes.set(there, { ...other, entity: node, groups: null, root: false });
      const [source, end] = from.direction === 'out' ? [here, there] : [there, here];
      found.edges.set(`${group.edge}/${String(edge.id ?? `${source}>${end}`)}`, { from: source, to: end, type: group.edge, entity: edge });
    }
  }
}

/** A node with its edges, remembered for a point; null where it is not there. */
export function neighbours(graph: string, { type, id }: NodeRef, point: Point, fresh: string, only?: Opened): Promise<Schemas['NeighbourhoodOutput'] | null> {
  const key = [graph, formatPoint(point), point.kind === 'branch' ? fresh : '', type, id, only?.edge, only?.direction].join('\u0000');
  let found = cache.get(key);
  if (!found) {
    const query = { ...target(point), edge: only?.edge, direction: only?.direction, limit: only ? MOST : 1 };
    found = ask(api.GET('/graphs/{graph_id}/entities/{type}/{id}/neighbours', { params: { path: { graph_id: graph, type, id }, query } })).catch((error: unknown) => {
      if (error instanceof ApiError && (error.status === 404 || error.status === 400)) return null;
      cache.delete(key);
      throw error;
    });
    cache.set(key, found);
    if (cache.size > 4000) cache.delete(cache.keys().next().value!);
  }
  return found;
}
