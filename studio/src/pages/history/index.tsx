// The commits as a graph; a commit opened, two points compared, a commit undone.
import { GitBranch, Tag } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { Empty, Loaded, Page, Tabs } from '../../components/basics';
import { api, ask, type Schemas } from '../../lib/api/client';
import { ago, plural, shortId, when } from '../../lib/format';
import { useGraph, usePermissions, useSchema } from '../../lib/graph';
import { usePoint } from '../../lib/point';
import { setParams, usePlace } from '../../lib/router';
import { useShortcuts } from '../../lib/shortcuts';
import { useAsync } from '../../lib/useAsync';
import { CommitDetails } from './Commit';
import { Compare } from './Compare';
import { Filters, type Wanted } from './Filters';
import { LaneCell, laneWidth } from './LaneCell';
import { lanesOf } from './lanes';
import './history.css';

export type Logged = Schemas['LoggedCommitOutput'];
const PAGE = 200;

export default function History() {
  const { id } = useGraph();
  const { params } = usePlace();
  const [point] = usePoint();
  const branch = point.kind === 'branch' ? point.name : 'main';
  const rights = usePermissions(branch);
  const restricted = rights.restricted || !rights.known; // then differences are not shown
  const schema = useSchema();
  const [limit, setLimit] = useState(PAGE);
  const wanted: Wanted = {
    every: params.get('every') !== 'no',
    kind: params.get('kind') ?? '',
    actor: params.get('actor') ?? '',
    message: params.get('message') ?? '',
    type: params.get('type') ?? '',
    maintenance: params.get('maintenance') === 'yes',
  };
  const filter = { actor: wanted.actor || undefined, kind: (wanted.kind || undefined) as Schemas['CommitKind'] | undefined, message: wanted.message || undefined, type: wanted.type || undefined, maintenance: wanted.maintenance || undefined };
  const query = { ...(wanted.every ? { every_branch: true } : { branch }), limit, ...filter };
  const log = useAsync(async (signal) => (await ask(api.GET('/graphs/{graph_id}/log', { params: { path: { graph_id: id }, query }, signal }))).commits, [id, JSON.stringify(query)]);
  const commits = log.data ?? [];
  const opened = params.get('commit');
  const compares = params.get('view') === 'compare' && !restricted;
  const open = (commit: string | null | undefined) => setParams({ commit: commit ?? undefined, view: undefined }, { replace: false });
  const step = (by: number) => {
    const at = commits.findIndex((each) => each.graph_commit_id === opened);
    const next = commits[at < 0 ? 0 : Math.min(commits.length - 1, Math.max(0, at + by))];
    if (next) open(next.graph_commit_id);
  };
  useShortcuts([
    { keys: 'j', what: 'Open the next older commit', run: () => step(1) },
    { keys: 'k', what: 'Open the next newer commit', run: () => step(-1) },
    { keys: 'c', what: 'Compare two points', run: () => !restricted && setParams({ view: 'compare' }) },
    { keys: '/', what: 'Find commits by their message', run: () => document.getElementById('commit-message')?.focus() },
  ]);
  const shown = useMemo(() => commits.find((each) => each.graph_commit_id === opened), [commits, opened]);
  return (
    <Page
      fill
      title="History"
      note={log.data && plural(commits.length, 'commit') + (commits.length === limit ? ' or more' : '')}
      actions={!restricted && <Tabs label="What is shown beside the commits" value={compares ? 'compare' : 'commit'} onChange={(next) => setParams({ view: next === 'compare' ? 'compare' : undefined })} options={[{ value: 'commit', label: 'Commit' }, { value: 'compare', label: 'Compare' }]} />}
    >
      <div className="history">
        <section className="panel history-list" aria-label="Commits">
          <Filters wanted={wanted} branch={branch} schema={schema.data} />
          <div className="history-scroll">
            <Loaded from={log} what="Reading the history">
              {(found) => (found.length === 0 ? <NoCommits /> : <CommitList commits={found} opened={opened} open={open} more={found.length === limit ? () => setLimit(limit + PAGE) : undefined} />)}
            </Loaded>
          </div>
        </section>
        <section className="panel history-side" aria-label={compares ? 'Compare' : 'Commit'}>
          {compares ? (
            <Compare />
          ) : opened ? (
            <CommitDetails key={opened} commit={opened} known={shown} schema={schema.data} branch={branch} onDone={log.reload} />
          ) : (
            <Empty title="Choose a commit">Its changes appear here, property by property. <kbd>J</kbd> and <kbd>K</kbd> walk through the list.</Empty>
          )}
        </section>
      </div>
    </Page>
  );
}

function NoCommits() {
  return (
    <Empty title="No commit fits" action={<button className="button" onClick={() => setParams({ kind: undefined, actor: undefined, message: undefined, type: undefined })}>Show all</button>}>
      Take a filter away, or look on every branch.
    </Empty>
  );
}

function CommitList({ commits, opened, open, more }: { commits: Logged[]; opened: string | null; open: (commit: string) => void; more: (() => void) | undefined }) {
  const rows = useMemo(() => lanesOf(commits), [commits]);
  const width = useMemo(() => laneWidth(rows), [rows]);
  const current = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    current.current?.scrollIntoView({ block: 'nearest' });
  }, [opened]);
  return (
    <ul className="log">
      {commits.map((commit, at) => {
        const chosen = commit.graph_commit_id === opened;
        return (
          <li key={commit.graph_commit_id}>
            <button ref={chosen ? current : undefined} aria-current={chosen} onClick={() => open(commit.graph_commit_id)}>
              <LaneCell row={rows[at]!} width={width} merge={commit.parents.length > 1} />
              <span className="log-text">
                <span className="log-line">
                  <span className="clip message">{commit.message ?? commit.kind ?? 'Commit'}</span>
                  {commit.branches.map((name) => (
                    <span key={name} className="badge accent ref" title={`Branch ${name}`}>
                      <GitBranch size={11} /> <span className="clip">{name}</span>
                    </span>
                  ))}
                  {commit.tags.map((name) => (
                    <span key={name} className="badge warn ref" title={`Tag ${name}`}>
                      <Tag size={11} /> <span className="clip">{name}</span>
                    </span>
                  ))}
                </span>
                <span className="muted small clip">
                  {commit.actor_id ?? 'no actor'} · <span title={when(commit.created_at)}>{ago(commit.created_at)}</span> · <code>{shortId(commit.graph_commit_id)}</code>
                </span>
              </span>
              <span className="badge">{commit.kind ?? 'commit'}</span>
            </button>
          </li>
        );
      })}
      {more && (
        <li className="more">
          <button className="button small" onClick={more}>Show older commits</button>
        </li>
      )}
    </ul>
  );
}
