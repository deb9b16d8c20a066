// An answer in the forms it can be shown in: nodes spread over columns, and nodes and edges as a graph.
import type { DrawnEdge, DrawnNode } from '../../components/graph/GraphCanvas';
import type { Row } from '../../components/DataTable';
import { type Entity, isEdge, isEntity, titleOf, typeOf } from '../../lib/entities';
import { goesForward, type Hop, hopsOf, typesOfVariable } from '../../lib/language/complete';
import { edgeWord, type GraphSchema, typeColor } from '../../lib/schema';
import type { Outcome } from './run';

/** Columns of nodes and edges become one column for each of their properties. */
export function flattened(outcome: Outcome): { columns: string[]; rows: Row[] } {
  const first = outcome.rows.slice(0, 200);
  const spread = new Map<string, string[]>();
  for (const name of outcome.columns) {
    const entities = first.map((row) => row[name]).filter(isEntity);
    if (entities.length === 0 || first.some((row) => row[name] !== null && !isEntity(row[name]))) continue;
    spread.set(name, [...new Set(entities.flatMap((each) => Object.keys(each)))]);
  }
  if (spread.size === 0) return outcome;
  const alone = outcome.columns.length === 1;
  const named = (column: string, property: string) => (alone ? property : `${column}.${property}`);
  const columns = outcome.columns.flatMap((name) => spread.get(name)?.map((each) => named(name, each)) ?? [name]);
  const rows = outcome.rows.map((row) => {
    const flat: Row = {};
    for (const name of outcome.columns) {
      const properties = spread.get(name);
      const value = row[name] as Entity | null;
      if (!properties) flat[name] = value;
      else for (const each of properties) flat[named(name, each)] = value?.[each] ?? null;
    }
    return flat;
  });
  return { columns, rows };
}

export interface AnswerGraph {
  nodes: DrawnNode[];
  edges: DrawnEdge[];
  legend: { label: string; color: string }[];
}

const MOST = 10_000;

/** The nodes and edges of an answer; null where there are no nodes, and until the schema says what they are. */
export function asGraph(outcome: Outcome, schema: GraphSchema | undefined, dark: boolean): AnswerGraph | null {
  if (!schema) return null;
  const nodes = new Map<string, DrawnNode>();
  const edges = new Map<string, DrawnEdge>();
  const bound = new Map(outcome.columns.map((name) => [name, typesOfVariable(`$${name}`, outcome.text, schema)]));
  const hops = certainHops(outcome, schema).map(({ left, right, edge }) => (goesForward(left, edge, outcome.text) ? { name: edge.name, tail: left, head: right } : { name: edge.name, tail: right, head: left }));
  for (const row of outcome.rows) {
    if (nodes.size >= MOST) break;
    const keys = new Map<string, string>();
    for (const name of outcome.columns) {
      const value = row[name];
      if (!isEntity(value)) continue;
      const type = typeOf(value, schema, bound.get(name)!) ?? name;
      keys.set(`$${name}`, `${type}/${value.id}`);
      if (!isEdge(value) || !schema.edges.some((each) => each.name === type)) nodes.set(`${type}/${value.id}`, { key: `${type}/${value.id}`, label: titleOf(value, schema, type), color: typeColor(schema, type, dark) });
      else {
        const declared = schema.edges.find((each) => each.name === type)!;
        edges.set(`${type}/${value.id}`, { key: `${type}/${value.id}`, from: `${declared.from}/${value.from}`, to: `${declared.to}/${value.to}`, label: edgeWord(type) });
      }
    }
    for (const { name, tail, head } of hops) {
      const [from, to] = [keys.get(tail), keys.get(head)];
      if (from && to) edges.set(`${name} ${from} ${to}`, { key: `${name} ${from} ${to}`, from, to, label: edgeWord(name) });
    }
  }
  if (nodes.size === 0 && edges.size === 0) return null;
  // An edge whose ends are not in the answer is drawn with its ends known by their ids only.
  for (const edge of edges.values()) {
    for (const end of [edge.from, edge.to]) {
      if (!nodes.has(end)) nodes.set(end, { key: end, label: end.slice(end.indexOf('/') + 1), color: typeColor(schema, end.slice(0, end.indexOf('/')), dark) });
    }
  }
  const types = [...new Set([...nodes.keys()].map((key) => key.slice(0, key.indexOf('/'))))].sort();
  return { nodes: [...nodes.values()], edges: [...edges.values()], legend: types.map((label) => ({ label, color: typeColor(schema, label, dark) })) };
}

/** The steps that every row has taken: single edges of the pattern itself, not of a block in it, whose edge is not a column. */
function certainHops(outcome: Outcome, schema: GraphSchema): Hop[] {
  const start = /\bmatch\s*\{/u.exec(outcome.text);
  if (!start) return [];
  let depth = 1;
  let pattern = '';
  for (const character of outcome.text.slice(start.index + start[0].length)) {
    if (character === '}') depth -= 1;
    if (depth === 0) break;
    if (depth === 1) pattern += character;
    if (character === '{') depth += 1;
  }
  return hopsOf(pattern, schema).filter((hop) => !hop.path && !outcome.columns.includes(hop.variable?.slice(1) ?? ''));
}
