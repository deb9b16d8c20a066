// One commit: who made it, counts by type, and each entity's change.
import { Clock, Copy, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { ChangeList, Counts, countsOf, ofCommit } from '../../components/Changes';
import { Empty, Failure, Loaded, toast } from '../../components/basics';
import { api, ask, type Schemas } from '../../lib/api/client';
import { ago, plural, shortId, when } from '../../lib/format';
import { useGraph, usePermissions } from '../../lib/graph';
import { href } from '../../lib/router';
import type { GraphSchema } from '../../lib/schema';
import { useAsync } from '../../lib/useAsync';
import { commitLink } from '../links';
import { Revert } from './Revert';
import { useChanges } from './useChanges';

type Commit = Schemas['CommitOutput'];

export function CommitDetails({ commit, known, schema, branch, onDone }: { commit: string; known: Commit | undefined; schema: GraphSchema | undefined; branch: string; onDone: () => void }) {
  const { id } = useGraph();
  const found = useAsync(async (signal) => known ?? ask(api.GET('/graphs/{graph_id}/commits/{commit_id}', { params: { path: { graph_id: id, commit_id: commit } }, signal })), [id, commit]);
  return <Loaded from={found}>{(data) => <Details commit={data} schema={schema} branch={branch} onDone={onDone} />}</Loaded>;
}

function Details({ commit, schema, branch, onDone }: { commit: Commit; schema: GraphSchema | undefined; branch: string; onDone: () => void }) {
  const { id } = useGraph();
  const [type, setType] = useState<string | null>(null);
  const [reverting, setReverting] = useState(false);
  const own = commit.graph_branch ?? 'main';
  const { may, restricted, known } = usePermissions(branch);
  const counts = countsOf(commit.counts);
  const isFirst = commit.parent_commit_id === null;
  const mayRevert = may('change') && !restricted && !isFirst && counts.length > 0;
  return (
    <>
      <header className="commit-head">
        <h2>{commit.message ?? commit.kind ?? 'Commit'}</h2>
        <div className="row small muted">
          <span className="badge">{commit.kind ?? 'commit'}</span>
          <span className="clip">
            {commit.actor_id ?? 'no actor'} on {own}
          </span>
          <span title={when(commit.created_at)}>{ago(commit.created_at)}</span>
          {commit.query && <span className="clip">by the query {commit.query}</span>}
        </div>
        <div className="row small">
          <button className="button small" title={commit.graph_commit_id} onClick={() => void navigator.clipboard.writeText(commit.graph_commit_id).then(() => toast('The id is copied.'))}>
            <Copy size={13} /> <code>{shortId(commit.graph_commit_id)}</code>
          </button>
          {commit.parent_commit_id && (
            <a href={commitLink(id, commit.parent_commit_id)} className="small">
              parent <code>{shortId(commit.parent_commit_id)}</code>
            </a>
          )}
          {commit.merged_parent_commit_id && (
            <a href={commitLink(id, commit.merged_parent_commit_id)} className="small">
              merged <code>{shortId(commit.merged_parent_commit_id)}</code>
            </a>
          )}
          <span className="spacer" />
          <a className="button small" href={href(id, 'query', { at: `at:${commit.graph_commit_id}` })}>
            <Clock size={13} /> Query then
          </a>
          {mayRevert && (
            <button className="button small danger" onClick={() => setReverting(true)}>
              <Undo2 size={13} /> Revert…
            </button>
          )}
        </div>
      </header>
      {counts.length > 0 && <Counts counts={counts} schema={schema} chosen={type} onChoose={setType} />}
      {isFirst ? (
        <Empty title="The graph begins here">Its first commit has a schema and no entities.</Empty>
      ) : restricted ? (
        <Empty title="The changes are not shown">You see a part of this graph. What a commit changed is shown to those who may read all of it.</Empty>
      ) : (
        known && <CommitChanges commit={commit.graph_commit_id} type={type} schema={schema} />
      )}
      {reverting && <Revert commit={commit} branch={branch} schema={schema} onClose={() => setReverting(false)} onDone={onDone} />}
    </>
  );
}

function CommitChanges({ commit, type, schema }: { commit: string; type: string | null; schema: GraphSchema | undefined }) {
  const { id } = useGraph();
  const pages = useChanges(
    async (token, signal) => {
      const query = { limit: 50, page_token: token, type: type === null ? undefined : [type] };
      const page = await ask(api.GET('/graphs/{graph_id}/commits/{commit_id}/changes', { params: { path: { graph_id: id, commit_id: commit }, query }, signal }));
      return { changes: page.changes.map(ofCommit), next: page.next_page_token, about: null };
    },
    [id, commit, type],
  );
  return (
    <Loaded from={pages.first} what="Reading the changes">
      {() => (
        <>
          <h3 className="changes-title">{plural(pages.changes.length, 'change')}{pages.more ? ' so far' : ''}</h3>
          {pages.changes.length === 0 ? <Empty title="No entity changed">It changed the schema or the files of the graph.</Empty> : <ChangeList changes={pages.changes} schema={schema} label="Changes" />}
          {pages.failed !== null && <Failure error={pages.failed} />}
          {pages.more && (
            <div className="more">
              <button className="button small" disabled={pages.busy} onClick={() => void pages.more?.()}>Show more changes</button>
            </div>
          )}
        </>
      )}
    </Loaded>
  );
}
