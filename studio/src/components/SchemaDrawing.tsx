// The types of a schema as boxes and its edge types as arrows, laid out by dagre and drawn as SVG.
import { layout as arrange, Graph } from '@dagrejs/dagre';
import { useId, useMemo } from 'react';
import { edgeWord, type GraphSchema, typeColor } from '../lib/schema';
import { isDark } from '../lib/theme';
import { useStore } from '../lib/store';
import './schema-drawing.css';

interface Props {
  schema: GraphSchema;
  counts?: Map<string, number>;
  onType?: (name: string) => void;
  properties?: number; // how many of each type are listed
}

const LINE = 17;
const HEAD = 30;

export function SchemaDrawing({ schema, counts, onType, properties = 6 }: Props) {
  const dark = useStore(isDark);
  const marker = useId();
  const drawn = useMemo(() => place(schema, properties), [schema, properties]);
  return (
    <div className="schema-drawing">
      <svg viewBox={`0 0 ${drawn.width} ${drawn.height}`} style={{ maxWidth: drawn.width * 1.15 }} role="img" aria-label={`Schema: ${schema.nodes.length} node types, ${schema.edges.length} edge types`}>
        <defs>
          <marker id={marker} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
            <path d="M0 0 8 4 0 8z" className="arrow" />
          </marker>
        </defs>
        {drawn.loops.map((loop) => (
          <g key={loop.name} className="edge">
            <path d={loop.path} markerEnd={`url(#${marker})`} />
            <text x={loop.x} y={loop.y} textAnchor="middle">
              {edgeWord(loop.name)}
            </text>
          </g>
        ))}
        {drawn.edges.map((edge) => (
          <g key={edge.name} className="edge">
            <path d={edge.path} markerEnd={`url(#${marker})`} />
            <text x={edge.x} y={edge.y} textAnchor="middle">
              {edgeWord(edge.name)}
            </text>
          </g>
        ))}
        {drawn.nodes.map(({ type, x, y, width, height, lines }) => (
          <g key={type.name} transform={`translate(${x} ${y})`} className={onType ? 'type clickable' : 'type'} onClick={() => onType?.(type.name)}>
            <rect width={width} height={height} rx="7" />
            <rect width="4" height={height - 14} x="0" y="7" rx="2" fill={typeColor(schema, type.name, dark)} className="stripe" />
            <text x="14" y="20" className="name">
              {type.name}
            </text>
            {counts?.has(type.name) && (
              <text x={width - 10} y="20" textAnchor="end" className="count">
                {counts.get(type.name)!.toLocaleString('en')}
              </text>
            )}
            {lines.map((line, at) => (
              <text key={line.name} x="14" y={HEAD + 12 + at * LINE} className={line.key ? 'property key' : 'property'}>
                {line.name}
                <tspan className="kind" dx="6">
                  {line.type.length > 22 ? `${line.type.slice(0, 21)}…` : line.type}
                </tspan>
              </text>
            ))}
          </g>
        ))}
      </svg>
    </div>
  );
}

function place(schema: GraphSchema, most: number) {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'LR', nodesep: 46, ranksep: 88, edgesep: 18, marginx: 14, marginy: 34 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const type of schema.nodes) {
    const lines = shown(type.properties, most);
    const longest = Math.max(type.name.length + 8, ...lines.map((each) => each.name.length + Math.min(22, each.type.length) + 2));
    graph.setNode(type.name, { width: Math.min(260, Math.max(130, longest * 7 + 24)), height: HEAD + lines.length * LINE + 8 });
  }
  for (const edge of schema.edges) {
    if (!graph.hasNode(edge.from) || !graph.hasNode(edge.to) || edge.from === edge.to) continue;
    graph.setEdge(edge.from, edge.to, { width: edge.name.length * 6.5 + 10, height: 16, labelpos: 'c' }, edge.name);
  }
  arrange(graph);
  const size = graph.graph() as { width?: number; height?: number };
  return {
    width: Math.max(200, size.width ?? 200),
    height: Math.max(80, size.height ?? 80),
    nodes: schema.nodes.map((type) => {
      const at = graph.node(type.name) as { x: number; y: number; width: number; height: number };
      return { type, x: at.x - at.width / 2, y: at.y - at.height / 2, width: at.width, height: at.height, lines: shown(type.properties, most) };
    }),
    loops: loopsOf(schema, graph),
    edges: graph.edges().map((key) => {
      const found = graph.edge(key) as { points: { x: number; y: number }[]; x: number; y: number };
      return { name: key.name ?? '', path: curve(found.points), x: found.x, y: found.y + 4 };
    }),
  };
}

/** Edges from a type to itself: arcs above its box, one beside the other. */
function loopsOf(schema: GraphSchema, graph: Graph) {
  const seen = new Map<string, number>();
  return schema.edges.filter((edge) => edge.from === edge.to && graph.hasNode(edge.from)).map((edge) => {
    const at = graph.node(edge.from) as { x: number; y: number; width: number; height: number };
    const turn = seen.get(edge.from) ?? 0;
    seen.set(edge.from, turn + 1);
    const x = at.x - at.width / 2 + 22 + turn * 66;
    const top = at.y - at.height / 2;
    return { name: edge.name, path: `M${x} ${top}C${x} ${top - 26} ${x + 34} ${top - 26} ${x + 34} ${top - 1}`, x: x + 17, y: top - 22 };
  });
}

function shown(properties: GraphSchema['nodes'][number]['properties'], most: number) {
  const sorted = [...properties].sort((a, b) => Number(b.key) - Number(a.key));
  if (sorted.length <= most) return sorted;
  return [...sorted.slice(0, most - 1), { name: `${sorted.length - most + 1} more`, type: '', key: false, indexed: false, optional: false }];
}

function curve(points: { x: number; y: number }[]): string {
  if (points.length < 3) return points.map((each, at) => `${at ? 'L' : 'M'}${each.x} ${each.y}`).join('');
  let path = `M${points[0]!.x} ${points[0]!.y}`;
  for (let at = 1; at < points.length - 1; at += 1) {
    const here = points[at]!;
    const next = points[at + 1]!;
    const end = at === points.length - 2 ? next : { x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 };
    path += `Q${here.x} ${here.y} ${end.x} ${end.y}`;
  }
  return path;
}
