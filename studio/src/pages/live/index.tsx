// The changes of a branch as they happen.
import { Eraser, Pause, Play } from 'lucide-react';
import { useState } from 'react';
import { ChangeList } from '../../components/Changes';
import { Empty, Failure, Loading, Page } from '../../components/basics';
import { ago, plural, shortId, when } from '../../lib/format';
import { useGraph, usePermissions, useSchema } from '../../lib/graph';
import { usePoint } from '../../lib/point';
import { useShortcuts } from '../../lib/shortcuts';
import { commitLink } from '../links';
import { useFeed } from './feed';
import './live.css';

const SHOWN = 30; // changes of one commit; the rest is in the history

export default function Live() {
  const [point] = usePoint();
  const branch = point.kind === 'branch' ? point.name : 'main';
  const { restricted, known, failed } = usePermissions(branch);
  if (failed) return <Page title="Live"><section className="panel"><Failure error={failed} /></section></Page>;
  if (!known) return <Loading />;
  if (restricted) {
    return (
      <Page title="Live">
        <section className="panel">
          <Empty title="The feed is not shown">You see a part of this graph. The change feed is for those who may read all of it.</Empty>
        </section>
      </Page>
    );
  }
  return <Feed branch={branch} />;
}

function Feed({ branch }: { branch: string }) {
  const { id } = useGraph();
  const schema = useSchema({ kind: 'branch', name: branch });
  const [paused, setPaused] = useState(false);
  const [type, setType] = useState('');
  const [op, setOp] = useState('');
  const feed = useFeed(id, branch, paused);
  const types = schema.data ? [...schema.data.nodes, ...schema.data.edges].map((each) => each.name) : [];
  const shown = feed.blocks
    .map((block) => ({ ...block, changes: block.changes.filter((each) => (!type || each.type === type) && (!op || each.op === op)) }))
    .filter((block) => block.changes.length > 0);
  useShortcuts([{ keys: 'p', what: 'Pause or resume the feed', run: () => setPaused(!paused) }]);
  return (
    <Page
      title="Live"
      note={
        <span className="row" role="status">
          <span className={`dot pulse ${paused || feed.error ? 'off' : ''}`} /> {feed.error ? 'Stopped' : paused ? 'Paused' : feed.listening ? 'Listening' : 'Connecting'}: {branch}
        </span>
      }
      actions={
        <>
          <select className="select" aria-label="Type" value={type} onChange={(event) => setType(event.target.value)}>
            <option value="">Any type</option>
            {types.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <select className="select" aria-label="Change" value={op} onChange={(event) => setOp(event.target.value)}>
            <option value="">Any change</option>
            <option value="insert">Added</option>
            <option value="update">Changed</option>
            <option value="delete">Removed</option>
          </select>
          <button className="button" onClick={() => setPaused(!paused)}>
            {paused ? <Play size={15} /> : <Pause size={15} />} {paused ? 'Resume' : 'Pause'}
          </button>
          {feed.blocks.length > 0 && (
            <button className="button" onClick={feed.clear}>
              <Eraser size={15} /> Clear
            </button>
          )}
        </>
      }
    >
      {feed.error ? (
        <section className="panel">
          <Failure error={feed.error} retry={feed.retry} />
        </section>
      ) : shown.length === 0 ? (
        <section className="panel">
          <Empty title={feed.blocks.length > 0 ? 'No change fits' : `Nothing has happened on ${branch} yet`}>
            {feed.blocks.length > 0 ? 'Choose another type or kind of change.' : 'Commits appear here as they are made, with each entity they change. Leave the page open.'}
          </Empty>
        </section>
      ) : (
        <div className="stack" role="log" aria-label="Commits as they happen">
          {shown.map(({ cause, message, changes }) => (
            <section className="panel live-block" key={cause.graph_commit_id} aria-label={`Commit ${shortId(cause.graph_commit_id)}`}>
              <header>
                <a className="clip" href={commitLink(id, cause.graph_commit_id)}>{message ?? shortId(cause.graph_commit_id)}</a>
                <span className="muted small clip">
                  {cause.actor_id ?? 'no actor'} · <span title={when(cause.authored_at)}>{ago(cause.authored_at)}</span>
                </span>
                <span className="spacer" />
                <span className="badge">{plural(changes.length, 'change')}</span>
              </header>
              <ChangeList changes={changes.slice(0, SHOWN)} schema={schema.data} label={`Changes of ${shortId(cause.graph_commit_id)}`} />
              {changes.length > SHOWN && (
                <p className="live-more">
                  <a href={commitLink(id, cause.graph_commit_id)}>All {plural(changes.length, 'change')}</a>
                </p>
              )}
            </section>
          ))}
        </div>
      )}
    </Page>
  );
}
