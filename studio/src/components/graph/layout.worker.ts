// Places nodes by ForceAtlas2, off the main thread, and sends positions as it goes.
import { UndirectedGraph } from 'graphology';
import forceAtlas2 from 'graphology-layout-forceatlas2';

export interface LayoutJob {
  turn: number;
  ids: string[];
  x: Float64Array;
  y: Float64Array;
  sources: Uint32Array;
  targets: Uint32Array;
  rounds: number;
}

export interface LayoutStep {
  turn: number;
  x: Float64Array;
  y: Float64Array;
  done: boolean;
}

let latest = 0;

self.onmessage = async (event: MessageEvent<LayoutJob>) => {
  const job = event.data;
  latest = job.turn;
  const graph = new UndirectedGraph();
  job.ids.forEach((id, at) => graph.addNode(id, { x: job.x[at], y: job.y[at] }));
  job.sources.forEach((source, at) => graph.mergeEdge(job.ids[source]!, job.ids[job.targets[at]!]!));
  const settings = { ...forceAtlas2.inferSettings(graph), barnesHutOptimize: graph.order > 400, adjustSizes: false, scalingRatio: 12, gravity: 1.2, slowDown: 3 };
  const chunk = graph.order > 2000 ? 5 : graph.order > 400 ? 10 : 25;
  for (let round = 0; round < job.rounds; round += chunk) {
    forceAtlas2.assign(graph, { iterations: chunk, settings });
    if (latest !== job.turn) return;
    const x = new Float64Array(job.ids.length);
    const y = new Float64Array(job.ids.length);
    job.ids.forEach((id, at) => {
      x[at] = graph.getNodeAttribute(id, 'x') as number;
      y[at] = graph.getNodeAttribute(id, 'y') as number;
    });
    const step: LayoutStep = { turn: job.turn, x, y, done: round + chunk >= job.rounds };
    self.postMessage(step, { transfer: [x.buffer, y.buffer] });
    await new Promise((next) => setTimeout(next)); // a newer job can arrive in between
  }
};
