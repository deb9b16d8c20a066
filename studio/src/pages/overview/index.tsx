// What the graph is and how it is doing: types with counts, schema, branches, newest commits.
import { GitBranch, GitCommitHorizontal } from 'lucide-react';
import { useMemo } from 'react';
import { Empty, Failure, Loaded, Page, Panel } from '../../components/basics';
import { SchemaDrawing } from '../../components/SchemaDrawing';
import { api, ask, type Schemas } from '../../lib/api/client';
import { ago, bytes, compact, count, plural, shortId, when } from '../../lib/format';
import { useGraph, useSchema } from '../../lib/graph';
import { formatPoint, pointLabel, target, usePoint } from '../../lib/point';
import { go, href } from '../../lib/router';
import { type GraphSchema, typeColor } from '../../lib/schema';
import { useStore } from '../../lib/store';
import { isDark } from '../../lib/theme';
import { useAsync } from '../../lib/useAsync';
import { commitLink } from '../links';
import { headsOf } from './branches';
import './overview.css';

export default function Overview() {
  const { id, branches } = useGraph();
  const [point] = usePoint();
  const branch = point.kind === 'branch' ? point.name : 'main';
  const schema = useSchema();
  const shown = target(point);
  const described = useAsync((signal) => ask(api.GET('/graphs/{graph_id}/describe', { params: { path: { graph_id: id }, query: shown }, signal })), [id, shown.branch, shown.snapshot]);
  const indexes = useAsync(async (signal) => (await ask(api.GET('/graphs/{graph_id}/indexes', { params: { path: { graph_id: id }, query: { branch } }, signal }))).indexes, [id, branch]);
  const commits = useAsync(async (signal) => (await ask(api.GET('/graphs/{graph_id}/commits', { params: { path: { graph_id: id }, query: { branch, limit: 8 } }, signal }))).commits, [id, branch]);
  const heads = useAsync((signal) => headsOf(id, branches.data ?? [], signal), [id, branches.data]);
  const counts = useMemo(() => new Map(described.data?.types.map((each) => [each.type, each.entities])), [described.data]);
  if (described.error) {
    return (
      <Page title="Overview">
        <section className="panel">
          <Failure error={described.error} retry={described.reload} />
        </section>
      </Page>
    );
  }
  return (
    <Page title="Overview" note={<Summary types={described.data?.types} />}>
      <div className="overview">
        <div className="column">
          <Panel title="Types" flush className="at-1">
            <Loaded from={described}>{(data) => <Types types={data.types} schema={schema.data} open={(q) => go(href(id, 'query', { at: formatPoint(point), q, run: '1' }))} />}</Loaded>
          </Panel>
          <Panel title="Branches" flush className="at-3">
            <Loaded from={described}>{(data) => <Branches divergence={data.divergence} heads={heads.data} graph={id} />}</Loaded>
          </Panel>
          <Panel title="Indexes" flush className="indexes at-5">
            <Loaded from={indexes}>{(data) => <Indexes indexes={data} />}</Loaded>
          </Panel>
        </div>
        <div className="column">
          <Panel title="Schema" actions={<span className="badge">{pointLabel(point)}</span>} className="at-2">
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
          <Panel title="Newest commits" flush className="at-4">
            <Loaded from={commits}>{(data) => <Commits commits={data} graph={id} />}</Loaded>
          </Panel>
        </div>
      </div>
    </Page>
  );
}

const everything = (type: string) => `match { $n: ${type} }\nreturn { $n }\nlimit 100`;

type Described = Schemas['DescribedTypeOutput'];

function Summary({ types }: { types: Described[] | undefined }) {
  if (!types) return null;
  const sum = (kind: string) => types.filter((each) => each.kind === kind).reduce((total, each) => total + each.entities, 0);
  const size = types.reduce((total, each) => total + (each.bytes ?? 0), 0);
  return (
    <>
      {plural(sum('node'), 'node')}, {plural(sum('edge'), 'edge')}
      {size > 0 && `, ${bytes(size)}`}
    </>
  );
}

function Types({ types, schema, open }: { types: Described[]; schema: GraphSchema | undefined; open: (query: string) => void }) {
  const dark = useStore(isDark);
  const most = Math.max(1, ...types.map((each) => each.entities));
  if (types.length === 0) return <Empty title="Nothing to see">There are no types, or you may not see any.</Empty>;
  const sorted = [...types].sort((a, b) => b.kind.localeCompare(a.kind) || b.entities - a.entities);
  return (
    <ul className="types">
      {sorted.map((each) => (
        <li key={`${each.kind}/${each.type}`}>
          <button disabled={each.kind === 'edge'} onClick={() => open(everything(each.type))} title={each.kind === 'node' ? `Show nodes of ${each.type}` : undefined}>
            <span className="dot" style={{ background: typeColor(schema, each.type, dark), borderRadius: each.kind === 'edge' ? 2 : undefined }} />
            <span className="clip">{each.type}</span>
            <span className="muted small">{each.kind}</span>
            <span className="muted small size">{each.bytes === null ? '' : bytes(each.bytes)}</span>
            <span className="amount" title={count(each.entities)}>
              {compact(each.entities)}
            </span>
            <span className="share" style={{ width: `${(each.entities / most) * 100}%`, background: typeColor(schema, each.type, dark) }} />
          </button>
        </li>
      ))}
    </ul>
  );
}

function Branches({ divergence, heads, graph }: { divergence: Schemas['DivergenceOutput'][]; heads: Map<string, Schemas['CommitOutput']> | undefined; graph: string }) {
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
        {divergence.map((each) => {
          const head = heads?.get(each.branch);
          return (
            <tr key={each.branch}>
              <td>
                <a href={href(graph, 'overview', { at: `branch:${each.branch}` })} className="row branch-name">
                  <GitBranch size={14} /> <span className="clip">{each.branch}</span>
                </a>
              </td>
              <td className="num">{each.branch === 'main' ? '' : count(each.ahead)}</td>
              <td className="num">{each.branch === 'main' ? '' : count(each.behind)}</td>
              <td className="muted" title={head ? when(head.created_at) : undefined}>
                {head ? ago(head.created_at) : ''}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Indexes({ indexes }: { indexes: Schemas['IndexOutput'][] }) {
  if (indexes.length === 0) return <Empty title="No indexes">Mark a property with @index in the schema, and searches will use one.</Empty>;
  return (
    <table className="plain">
      <thead>
        <tr>
          <th>Property</th>
          <th>Kind</th>
          <th className="num">Covered</th>
        </tr>
      </thead>
      <tbody>
        {indexes.map((each) => (
          <tr key={`${each.type_key}/${each.column}/${each.kind}`}>
            <td className="clip">
              {each.type_key.replace(/^(node|edge):/, '')}.{each.column}
            </td>
            <td className="muted">{each.kind}</td>
            <td className="num" title={`${count(each.covered_rows)} of ${count(each.rows)} rows`}>
              {each.name === null ? <span className="badge">{each.pending ? 'not built' : 'not needed yet'}</span> : `${Math.floor(each.coverage * 100)} %`}
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
            <a href={commitLink(graph, each.graph_commit_id)} className="clip">
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
