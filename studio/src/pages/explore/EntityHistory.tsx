// What happened to one node, commit by commit, with the values before and after.
import { useEffect, useState } from 'react';
import { Failure, Loaded } from '../../components/basics';
import { api, ask } from '../../lib/api/client';
import type { components } from '../../lib/api/schema';
import { ago, cell, when } from '../../lib/format';
import { useGraph } from '../../lib/graph';
import { type Point, target } from '../../lib/point';
import { useAsync } from '../../lib/useAsync';
import { commitLink } from '../links';
import type { DrawnEntity } from './neighbourhood';

type Event = components['schemas']['EntityEventOutput'];
const WORDS = { insert: 'Created', update: 'Changed', delete: 'Deleted' };
const PAGE = 50;

export function EntityHistory({ node, point }: { node: DrawnEntity; point: Point }) {
  const { id: graph } = useGraph();
  const [after, setAfter] = useState<string | undefined>(undefined);
  const [older, setOlder] = useState<Event[]>([]);
  useEffect(() => {
    setAfter(undefined);
    setOlder([]);
  }, [graph, node.type, node.id, point]);
  const found = useAsync((signal) => ask(api.GET('/graphs/{graph_id}/entities/{type}/{id}/history', { params: { path: { graph_id: graph, type: node.type, id: node.id }, query: { ...target(point), limit: PAGE, after } }, signal })), [graph, node.type, node.id, point, after]);
  if (found.error && older.length > 0) return <Failure error={found.error} title="No older changes" />;
  return (
    <Loaded from={found}>
      {(data) => {
        const more = () => {
          setOlder([...older, ...data.events]);
          setAfter(data.after ?? undefined);
        };
        const known = new Set(older.map((each) => each.commit.graph_commit_id));
        const shown = [...older, ...data.events.filter((each) => !known.has(each.commit.graph_commit_id))];
        return (
          <>
            <ul className="happened" aria-label="History of the node">
              {shown.map((each) => (
                <Happened key={each.commit.graph_commit_id} event={each} graph={graph} />
              ))}
            </ul>
            {data.after !== null && !found.loading && (
              <button className="button small" onClick={more}>
                Show older changes
              </button>
            )}
            {data.after === null && !data.complete && <p className="muted small">Older changes were removed by cleanup.</p>}
          </>
        );
      }}
    </Loaded>
  );
}

function Happened({ event, graph }: { event: Event; graph: string }) {
  const { commit } = event;
  return (
    <li>
      <div>
        <strong>{event.op ? WORDS[event.op] : 'Changed'}</strong> <a href={commitLink(graph, commit.graph_commit_id)}>{commit.message ?? commit.kind ?? 'commit'}</a>
      </div>
      <div className="muted small">
        {commit.kind ?? 'commit'} · {commit.actor_id ?? 'no actor'} · <span title={when(commit.created_at)}>{ago(commit.created_at)}</span>
      </div>
      {event.changed.map((each) => (
        <div key={each.name} className="small">
          {each.name}: {event.op === 'update' && <span className="muted">{text(each.before)} → </span>}
          {text(event.op === 'delete' ? each.before : each.after)}
        </div>
      ))}
    </li>
  );
}

function text(value: unknown): string {
  const shown = value === null ? 'null' : cell(value);
  return shown.length > 200 ? `${shown.slice(0, 200)}…` : shown;
}
