// Nodes and edges drawn with WebGL. Labels are drawn on a canvas, so names of a graph never become markup.
import { MultiDirectedGraph } from 'graphology';
import { Maximize, ZoomIn, ZoomOut } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import Sigma from 'sigma';
import { useStore } from '../../lib/store';
import { isDark } from '../../lib/theme';
import { Empty } from '../basics';
import type { LayoutJob, LayoutStep } from './layout.worker';
import './graph.css';

export interface DrawnNode {
  key: string;
  label: string;
  color: string;
  faded?: boolean;
  root?: boolean;
}

export interface DrawnEdge {
  key: string;
  from: string;
  to: string;
  label: string;
  color?: string;
}

interface Props {
  nodes: DrawnNode[];
  edges: DrawnEdge[];
  label: string;
  legend?: { label: string; color: string }[]; // what the colours mean
  selected?: string | null;
  onSelect?: (key: string | null) => void;
  onOpen?: (key: string) => void;
}

const LINES = { light: '#c3c9d4', dark: '#3c4454' };
const NAMED_EDGES = 16;
const FADED = { light: '#dfe3ea', dark: '#272d39' };

export function GraphCanvas({ nodes, edges, label, legend = [], selected = null, onSelect, onOpen }: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const graph = useRef(new MultiDirectedGraph());
  const renderer = useRef<Sigma | null>(null);
  const latest = useRef({ onSelect, onOpen, selected });
  latest.current = { onSelect, onOpen, selected };
  const [broken, setBroken] = useState(false);
  const [laidOut, setLaidOut] = useState(0);
  const dark = useStore(isDark);

  useEffect(() => {
    let sigma: Sigma;
    try {
      sigma = new Sigma(graph.current, holder.current!, {
        allowInvalidContainer: true,
        defaultEdgeType: 'arrow',
        labelFont: 'Inter Variable, sans-serif',
        labelSize: 12,
        labelRenderedSizeThreshold: 5,
        labelDensity: 0.6,
        edgeLabelSize: 10.5,
        edgeLabelFont: 'Inter Variable, sans-serif',
        zIndex: true,
        stagePadding: Math.max(18, Math.min(70, holder.current!.clientHeight * 0.1)),
        minCameraRatio: 0.02,
        maxCameraRatio: 8,
        nodeReducer: (key, data) => (key === latest.current.selected ? { ...data, highlighted: true, zIndex: 2, size: (data.size as number) * 1.25 } : data),
        defaultDrawNodeHover: drawHover,
      });
    } catch {
      setBroken(true);
      return;
    }
    sigma.on('clickNode', ({ node }) => latest.current.onSelect?.(node));
    sigma.on('clickStage', () => latest.current.onSelect?.(null));
    sigma.on('doubleClickNode', ({ node, preventSigmaDefault }) => {
      preventSigmaDefault();
      latest.current.onOpen?.(node);
    });
    dragging(sigma, graph.current);
    renderer.current = sigma;
    return () => {
      sigma.kill();
      renderer.current = null;
    };
  }, []);

  useEffect(() => {
    const sigma = renderer.current;
    if (!sigma) return;
    sigma.setSetting('labelColor', { color: dark ? '#e8ebf1' : '#171a21' });
    sigma.setSetting('edgeLabelColor', { color: dark ? '#9aa5b8' : '#566072' });
    sigma.setSetting('defaultEdgeColor', dark ? LINES.dark : LINES.light);
  }, [dark]);

  useEffect(() => {
    renderer.current?.setSetting('renderEdgeLabels', edges.length <= NAMED_EDGES); // more would hide each other
    const changed = merge(graph.current, nodes, edges, dark);
    if (!changed) return;
    return place(graph.current, (done) => done && setLaidOut((before) => before + 1));
  }, [nodes, edges, dark]);

  useEffect(() => void renderer.current?.refresh({ skipIndexation: true }), [selected]);

  const camera = () => renderer.current?.getCamera();
  if (broken) return <Empty title="This browser cannot draw the graph">It has no WebGL. Switch on hardware acceleration, or use the list beside the drawing.</Empty>;
  return (
    <div className="graph-canvas" data-laid-out={laidOut} data-nodes={nodes.length} data-edges={edges.length}>
      <div ref={holder} className="graph-surface" role="img" aria-label={`${label}: ${nodes.length} nodes, ${edges.length} edges`} />
      {legend.length > 0 && (
        <ul className="graph-legend" aria-label="Types">
          {legend.map((each) => (
            <li key={each.label}>
              <span className="dot" style={{ background: each.color }} /> <span className="clip">{each.label}</span>
            </li>
          ))}
        </ul>
      )}
      <div className="graph-tools" role="group" aria-label="View">
        <button className="button small icon" aria-label="Zoom in" onClick={() => void camera()?.animatedZoom()}>
          <ZoomIn size={15} />
        </button>
        <button className="button small icon" aria-label="Zoom out" onClick={() => void camera()?.animatedUnzoom()}>
          <ZoomOut size={15} />
        </button>
        <button className="button small icon" aria-label="Show everything" onClick={() => void camera()?.animatedReset()}>
          <Maximize size={15} />
        </button>
      </div>
    </div>
  );
}

/** Make the drawn graph equal to the wanted one; what stays keeps its place, what is new starts beside a neighbour. */
function merge(graph: MultiDirectedGraph, nodes: DrawnNode[], edges: DrawnEdge[], dark: boolean): boolean {
  let changed = false;
  const wantedNodes = new Map(nodes.map((each) => [each.key, each]));
  const wantedEdges = new Map(edges.filter((each) => wantedNodes.has(each.from) && wantedNodes.has(each.to)).map((each) => [each.key, each]));
  graph.forEachEdge((key) => !wantedEdges.has(key) && graph.dropEdge(key));
  graph.forEachNode((key) => {
    if (!wantedNodes.has(key)) {
      graph.dropNode(key);
      changed = true;
    }
  });
  const near = new Map<string, string>();
  for (const each of wantedEdges.values()) {
    if (graph.hasNode(each.from) && !graph.hasNode(each.to)) near.set(each.to, each.from);
    if (graph.hasNode(each.to) && !graph.hasNode(each.from)) near.set(each.from, each.to);
  }
  let at = 0;
  for (const each of nodes) {
    const color = each.faded ? (dark ? FADED.dark : FADED.light) : each.color;
    if (graph.hasNode(each.key)) {
      graph.mergeNodeAttributes(each.key, { label: each.label, color });
      continue;
    }
    changed = true;
    const anchor = near.get(each.key);
    const angle = (at += 1) * 2.399963;
    const reach = anchor ? 3 : Math.sqrt(at) * 4;
    const x = (anchor ? (graph.getNodeAttribute(anchor, 'x') as number) : 0) + Math.cos(angle) * reach;
    const y = (anchor ? (graph.getNodeAttribute(anchor, 'y') as number) : 0) + Math.sin(angle) * reach;
    graph.addNode(each.key, { label: each.label, color, x, y, size: 5 });
  }
  for (const each of wantedEdges.values()) {
    if (graph.hasEdge(each.key)) continue;
    changed = true;
    graph.addDirectedEdgeWithKey(each.key, each.from, each.to, { label: each.label, size: 1.8, ...(each.color ? { color: each.color } : {}) });
  }
  const many = graph.order > 1500 ? 0.55 : graph.order > 300 ? 0.75 : 1;
  for (const each of nodes) graph.setNodeAttribute(each.key, 'size', ((each.root ? 9 : 5) + Math.min(7, Math.sqrt(graph.degree(each.key)))) * many);
  return changed;
}

let turns = 0;

/** Run the layout in a worker and move the nodes as positions arrive; returns what stops it. */
function place(graph: MultiDirectedGraph, report: (done: boolean) => void): () => void {
  const turn = (turns += 1);
  const worker = new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module' });
  const ids = graph.nodes();
  const index = new Map(ids.map((id, at) => [id, at]));
  const ends = graph.mapEdges((_key, _data, source, target) => [index.get(source)!, index.get(target)!] as const).filter(([a, b]) => a !== b);
  const job: LayoutJob = {
    turn,
    ids,
    x: Float64Array.from(ids, (id) => graph.getNodeAttribute(id, 'x') as number),
    y: Float64Array.from(ids, (id) => graph.getNodeAttribute(id, 'y') as number),
    sources: Uint32Array.from(ends, ([source]) => source),
    targets: Uint32Array.from(ends, ([, target]) => target),
    rounds: ids.length > 2000 ? 60 : ids.length > 400 ? 150 : 300,
  };
  worker.onmessage = (event: MessageEvent<LayoutStep>) => {
    const step = event.data;
    const places = new Map(ids.map((id, at) => [id, at]));
    graph.updateEachNodeAttributes(
      (id, data) => {
        const at = places.get(id);
        if (at === undefined || data.held) return data;
        return { ...data, x: step.x[at], y: step.y[at] };
      },
      { attributes: ['x', 'y'] },
    );
    if (step.done) worker.terminate();
    report(step.done);
  };
  worker.postMessage(job);
  return () => worker.terminate();
}

function dragging(sigma: Sigma, graph: MultiDirectedGraph): void {
  let held: string | null = null;
  sigma.on('downNode', ({ node }) => {
    held = node;
    graph.setNodeAttribute(node, 'held', true);
    if (!sigma.getCustomBBox()) sigma.setCustomBBox(sigma.getBBox());
  });
  sigma.on('moveBody', ({ event }) => {
    if (!held) return;
    const { x, y } = sigma.viewportToGraph(event);
    graph.mergeNodeAttributes(held, { x, y });
    event.preventSigmaDefault();
    event.original.preventDefault();
    event.original.stopPropagation();
  });
  const release = () => {
    if (held) graph.removeNodeAttribute(held, 'held');
    held = null;
    sigma.setCustomBBox(null);
  };
  sigma.on('upNode', release);
  sigma.on('upStage', release);
}

/** The label of the node under the pointer, and of the selected one, on a box in the colours of the theme. */
function drawHover(context: CanvasRenderingContext2D, data: { x: number; y: number; size: number; label: string | null; color: string }, settings: { labelSize: number; labelFont: string }): void {
  const style = getComputedStyle(document.documentElement);
  context.font = `600 ${settings.labelSize}px ${settings.labelFont}`;
  const text = data.label ?? '';
  const width = context.measureText(text).width + data.size + 16;
  const height = settings.labelSize + 12;
  context.fillStyle = style.getPropertyValue('--raised');
  context.strokeStyle = style.getPropertyValue('--accent');
  context.lineWidth = 1.5;
  context.beginPath();
  context.roundRect(data.x - data.size - 4, data.y - height / 2, width + data.size, height, height / 2);
  context.fill();
  context.stroke();
  context.fillStyle = data.color;
  context.beginPath();
  context.arc(data.x, data.y, data.size, 0, Math.PI * 2);
  context.fill();
  context.fillStyle = style.getPropertyValue('--text');
  context.fillText(text, data.x + data.size + 5, data.y + settings.labelSize / 3);
}
