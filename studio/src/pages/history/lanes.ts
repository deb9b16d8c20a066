// Which lane each commit is drawn in, and the lines that pass its row.
export interface Logged {
  graph_commit_id: string;
  graph_branch: string | null; // null is main
  parents: string[];
}

export interface Line {
  from: number; // lane at the upper edge, or of the commit
  to: number; // lane of the commit, or at the lower edge
  part: 'above' | 'below' | 'through';
  lane: number; // whose colour it has
}

export interface LaneRow {
  lane: number;
  lines: Line[];
  width: number; // lanes in use
}

/** Commits come with children before parents; a lane waits for the commit that it leads down to. Main has the first lane. */
export function lanesOf(commits: Logged[]): LaneRow[] {
  const main = commits.find((each) => each.graph_branch === null)?.graph_commit_id ?? null;
  let waiting: (string | null)[] = [main];
  let begun = false; // nothing leads to the newest commit of main, unless another branch was forked from it
  return commits.map(({ graph_commit_id: id, parents }) => {
    const above = waiting;
    const found = above.indexOf(id);
    const lane = found >= 0 ? found : firstFree(above);
    const below = above.map((each) => (each === id ? null : each));
    const lines: Line[] = [];
    above.forEach((each, at) => {
      if (each === null || (at === 0 && !begun)) return;
      if (each === id) lines.push({ from: at, to: lane, part: 'above', lane: at });
      else lines.push({ from: at, to: at, part: 'through', lane: at });
    });
    parents.forEach((parent, at) => {
      const known = below.indexOf(parent);
      const to = at === 0 ? lane : known >= 0 ? known : firstFree(below);
      below[to] = parent;
      lines.push({ from: lane, to, part: 'below', lane: to });
    });
    begun ||= id === main || below[0] !== main;
    while (below.length > 0 && below.at(-1) === null) below.pop();
    waiting = below;
    return { lane, lines, width: Math.max(above.length, below.length, lane + 1) };
  });
}

function firstFree(lanes: (string | null)[]): number {
  const free = lanes.indexOf(null);
  return free >= 0 ? free : lanes.length;
}
