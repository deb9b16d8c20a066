// What the graph is and how it is doing: types with counts, schema, branches, newest commits.
import { GitBranch, GitCommitHorizontal } from 'lucide-react';
import { useMemo } from 'react';
import { Empty, Loaded, Page, Panel } from '../../components/basics';
import { SchemaDrawing } from '../../components/SchemaDrawing';
import { api, ask, type Schemas } from '../../lib/api/client';
import { ago, compact, count, plural, shortId, when } from '../../lib/format';
import { useGraph, useSchema } from '../../lib/graph';
import { formatPoint, pointLabel, usePoint } from '../../lib/point';
import { go, href } from '../../lib/router';
import { type GraphSchema, typeColor } from '../../lib/schema';
import { useStore } from '../../lib/store';
import { isDark } from '../../lib/theme';
import { useAsync } from '../../lib/useAsync';
import { type BranchState, branchStates } from './branches';
import './overview.css';

export default function Overview() {
  const { id, branches } = useGraph();
  const [point] = usePoint();
  const branch = point.kind === 'branch' ? point.name : 'main';
  const schema = useSchema();
  const snapshot = useAsync((signal) => ask(api.GET('/graphs/{graph_id}/snapshot', { params: { path: { graph_id: id }, query: { branch } }, signal })), [id, branch]);
  const commits = useAsync(async (signal) => (await ask(api.GET('/graphs/{graph_id}/commits', { params: { path: { graph_id: id }, query: { branch, limit: 8 } }, signal }))).commits, [id, branch]);
  const states = useAsync((signal) => branchStates(id, branches.data ?? [], signal), [id, branches.data]);
  const counts = useMemo(() => new Map(snapshot.data?.datasets.map((each) => [each.type_name, each.entity_count])), [snapshot.data]);
  return (
    <Page title="Overview" note={<Summary datasets={snapshot.data?.datasets} />}>
      <div className="overview">
        <Panel title="Types" flush>
          <Loaded from={snapshot}>{(data) => <Types datasets={data.datasets} schema={schema.data} open={(q) => go(href(id, 'query', { at: formatPoint(point), q, run: '1' }))} />}</Loaded>
        </Panel>
        <Panel title="Schema" actions={<span className="badge">{pointLabel(point)}</span>}>
          <Loaded from={schema}>
            {(data) =>
              data.nodes.length === 0 ? (
                <Empty title="No types yet">Write a schema on the Schema page, or load files on the Data page.</Empty>
              ) : (
                <SchemaDrawing schema={data} counts={counts} onType={(name) => go(href(id, 'query', { at: formatPoint(point), q: everything(name), run: '1' }))} />
              )
            }
          </Loaded>
        </Panel>
        <Panel title="Branches" flush>
          <Loaded from={states}>{(data) => <Branches states={data} graph={id} />}</Loaded>
        </Panel>
        <Panel title="Newest commits" flush actions={<a href={href(id, 'history', { at: formatPoint(point) })}>All</a>}>
          <Loaded from={commits}>{(data) => <Commits commits={data} graph={id} />}</Loaded>
        </Panel>
      </div>
    </Page>
  );
}

const everything = (type: string) => `match { $n: ${type} }\nreturn { $n }\nlimit 100`;

function Summary({ datasets }: { datasets: Schemas['SnapshotDatasetOutput'][] | undefined }) {
  if (!datasets) return null;
  const sum = (kind: string) => datasets.filter((each) => each.entity_kind === kind).reduce((total, each) => total + each.entity_count, 0);
  return (
    <>
      {plural(sum('node'), 'node')}, {plural(sum('edge'), 'edge')}
    </>
  );
}

function Types({ datasets, schema, open }: { datasets: Schemas['SnapshotDatasetOutput'][]; schema: GraphSchema | undefined; open: (query: string) => void }) {
  const dark = useStore(isDark);
  const most = Math.max(1, ...datasets.map((each) => each.entity_count));
  if (datasets.length === 0) return <Empty title="Nothing to see">There are no types, or you may not see any.</Empty>;
  const sorted = [...datasets].sort((a, b) => b.entity_kind.localeCompare(a.entity_kind) || b.entity_count - a.entity_count);
  return (
    <ul className="types">
      {sorted.map((each) => (
        <li key={`${each.entity_kind}/${each.type_name}`}>
          <button disabled={each.entity_kind === 'edge'} onClick={() => open(everything(each.type_name))} title={each.entity_kind === 'node' ? `Show nodes of ${each.type_name}` : undefined}>
            <span className="dot" style={{ background: typeColor(schema, each.type_name, dark), borderRadius: each.entity_kind === 'edge' ? 2 : undefined }} />
            <span className="clip">{each.type_name}</span>
            <span className="muted small">{each.entity_kind}</span>
            <span className="amount" title={count(each.entity_count)}>
              {compact(each.entity_count)}
            </span>
            <span className="share" style={{ width: `${(each.entity_count / most) * 100}%`, background: typeColor(schema, each.type_name, dark) }} />
          </button>
        </li>
      ))}
    </ul>
  );
}

function Branches({ states, graph }: { states: BranchState[]; graph: string }) {
  return (
    <table className="plain">
      <thead>
        <tr>
          <th>Branch</th>
          <th className="num">Ahead</th>
          <th className="num">Behind</th>
          <th>Last commit</th>
        </tr>
      </thead>
      <tbody>
        {states.map((each) => (
          <tr key={each.name}>
            <td>
              <a href={href(graph, 'overview', { at: `branch:${each.name}` })} className="row branch-name">
                <GitBranch size={14} /> <span className="clip">{each.name}</span>
              </a>
            </td>
            <td className="num">{each.name === 'main' ? '' : each.ahead === null ? '?' : count(each.ahead)}</td>
            <td className="num">{each.name === 'main' ? '' : each.behind === null ? '?' : count(each.behind)}</td>
            <td className="muted" title={each.head ? when(each.head.created_at) : undefined}>
              {each.head ? ago(each.head.created_at) : 'not visible'}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Commits({ commits, graph }: { commits: Schemas['CommitOutput'][]; graph: string }) {
  return (
    <ul className="commits">
      {commits.map((each) => (
        <li key={each.graph_commit_id}>
          <GitCommitHorizontal size={16} className="muted" />
          <div className="clip">
            <a href={href(graph, 'history', { commit: each.graph_commit_id })} className="clip">
              {each.message ?? each.kind ?? 'Commit'}
            </a>
            <div className="muted small clip">
              {each.actor_id ?? 'no actor'} · <span title={when(each.created_at)}>{ago(each.created_at)}</span> · <code>{shortId(each.graph_commit_id)}</code>
            </div>
          </div>
          <span className="badge">{each.kind ?? 'commit'}</span>
        </li>
      ))}
    </ul>
  );
}
