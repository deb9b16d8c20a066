// A slider over the commits of a branch: what is drawn is what was there.
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import { api, ask, type Schemas } from '../../lib/api/client';
import { ago, when } from '../../lib/format';
import { useGraph } from '../../lib/graph';
import type { Point } from '../../lib/point';
import { useAsync } from '../../lib/useAsync';

export interface Moment {
  point: Point; // what is read
  head: string | null; // the newest commit, so that a branch that moved is read again
  commits: Schemas['CommitOutput'][]; // oldest first
  at: number;
  move: (at: number) => void;
  reload: () => void; // after a write
}

const MOST = 300;

/** The chosen point, and the commits before it that the slider can go to. */
export function useMoment(chosen: Point): Moment {
  const { id } = useGraph();
  const branch = chosen.kind === 'branch' ? chosen.name : null;
  const found = useAsync(
    async (signal) => (branch === null ? [] : (await ask(api.GET('/graphs/{graph_id}/commits', { params: { path: { graph_id: id }, query: { branch, limit: MOST } }, signal }))).commits.reverse()),
    [id, branch],
  );
  const commits = found.data ?? [];
  const [back, setBack] = useState<number | null>(null); // null: the newest
  useEffect(() => setBack(null), [branch, id]);
  const at = back === null ? commits.length - 1 : Math.min(back, commits.length - 1);
  const commit = back === null ? null : (commits[at]?.graph_commit_id ?? null);
  const point = useMemo<Point>(() => (commit === null ? chosen : { kind: 'snapshot', id: commit }), [commit, chosen]);
  return { point, head: commits.at(-1)?.graph_commit_id ?? null, commits, at, move: (next) => setBack(next >= commits.length - 1 ? null : next), reload: found.reload };
}

export function TimeSlider({ moment }: { moment: Moment }) {
  const { commits, at, move } = moment;
  const [shown, setShown] = useState<number | null>(null);
  // A drag passes many commits; only where it rests is read.
  useEffect(() => {
    if (shown === null) return;
    const timer = setTimeout(() => { move(shown); setShown(null); }, 180);
    return () => clearTimeout(timer);
  }, [shown]);
  if (commits.length < 2) return null;
  const value = shown ?? at;
  const commit = commits[value];
  return (
    <div className="time-slider">
      <label htmlFor="time" className="small muted">
        Time
      </label>
      <button className="button small icon" aria-label="A commit back" title="A commit back" disabled={value === 0} onClick={() => { setShown(null); move(value - 1); }}>
        <ChevronLeft size={14} />
      </button>
      <input id="time" type="range" min={0} max={commits.length - 1} value={value} onChange={(event) => setShown(Number(event.target.value))} aria-valuetext={commit ? `${commit.message ?? commit.kind ?? 'commit'}, ${when(commit.created_at)}` : undefined} />
      <button className="button small icon" aria-label="A commit forward" title="A commit forward" disabled={value === commits.length - 1} onClick={() => { setShown(null); move(value + 1); }}>
        <ChevronRight size={14} />
      </button>
      <div className="clip">
        <span className="clip">{value === commits.length - 1 ? 'Now: ' : ''}{commit?.message ?? commit?.kind ?? ''}</span>
        <span className="muted small"> · {commit && ago(commit.created_at)}</span>
      </div>
      {value !== commits.length - 1 && (
        <button className="button small" onClick={() => { setShown(null); move(commits.length - 1); }}>
          Back to now
        </button>
      )}
    </div>
  );
}
