// Nodes and edges as the API gives them, and what to call them on the screen.
import type { GraphSchema } from './schema';

export type Entity = Record<string, unknown>;

export interface NodeRef {
  type: string;
  id: string;
}

export const keyOf = ({ type, id }: NodeRef): string => `${type}/${id}`;

const TITLES = ['name', 'title', 'label'];

/** What a person would call this node: a name or title, else its id. */
export function titleOf(entity: Entity, schema?: GraphSchema, type?: string): string {
  for (const name of TITLES) if (typeof entity[name] === 'string' && entity[name]) return entity[name] as string;
  const key = type === undefined ? null : schema?.nodes.find((each) => each.name === type)?.key;
  if (key && typeof entity[key] === 'string') return entity[key] as string;
  return String(entity.id ?? '');
}

export function isEntity(value: unknown): value is Entity & { id: string } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && typeof (value as Entity).id === 'string';
}

export function isEdge(value: unknown): value is Entity & { id: string; from: string; to: string } {
  return isEntity(value) && typeof value.from === 'string' && typeof value.to === 'string';
}

/** The type of a node of an answer: said by the answer, bound in the query, or the one type that has such properties. */
export function typeOf(entity: Entity, schema: GraphSchema | undefined, bound: string[]): string | null {
  if (typeof entity['@type'] === 'string') return entity['@type'];
  const names = Object.keys(entity).filter((name) => name !== 'id' && name !== 'from' && name !== 'to');
  const all = schema ? [...schema.nodes, ...schema.edges] : [];
  const fitting = all.filter((type) => (bound.length === 0 || bound.includes(type.name)) && names.every((name) => type.properties.some((each) => each.name === name)));
  return fitting[0]?.name ?? (bound.length === 1 ? bound[0]! : null);
}
