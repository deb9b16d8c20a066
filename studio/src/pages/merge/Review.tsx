// What a merge would do, the decisions it needs, and the merge itself.
import { GitMerge } from 'lucide-react';
import { useMemo, useState } from 'react';
import { ChangeList, Counts, countsOf, ofDiff } from '../../components/Changes';
import { Conflicts, type Decisions, leftToDecide, resolveOf, withDecision } from '../../components/Conflicts';
import { Empty, Failure, Loaded, Panel, toast } from '../../components/basics';
import { api, ask, type Schemas } from '../../lib/api/client';
import { plural } from '../../lib/format';
import { useGraph, useSchema } from '../../lib/graph';
import { href, setParams } from '../../lib/router';
import { useShortcuts } from '../../lib/shortcuts';
import { useAsync } from '../../lib/useAsync';
import { commitLink } from '../links';
import { useChanges } from '../history/useChanges';
import { useDoing } from '../../components/branches';

type Merged = Schemas['BranchMergeOutput'];

export function Review({ missing, source, target, mayMerge, mayDelete }: { missing: boolean; source: string; target: string; mayMerge: boolean; mayDelete: boolean }) {
  const { id, branches } = useGraph();
  const schema = useSchema({ kind: 'branch', name: source });
  const [decisions, setDecisions] = useState<Decisions>({});
  const [message, setMessage] = useState('');
  const [remove, setRemove] = useState(false);
  const [merged, setMerged] = useState<Merged | null>(null);
  const { busy, failed, run } = useDoing();
  const send = (body: Partial<Schemas['BranchMergeRequest']>, signal?: AbortSignal) => ask(api.POST('/graphs/{graph_id}/branches/merge', { params: { path: { graph_id: id } }, body: { source, target, ...body }, signal }));
  const preview = useAsync((signal) => send({ preview: true }, signal), [id, source, target]);
  const conflicts = preview.data?.conflicts ?? [];
  const left = leftToDecide(conflicts, decisions);
  const resolve = useMemo(() => resolveOf(conflicts, decisions), [preview.data, decisions]);
  const outcome = useAsync(async (signal) => (preview.data && left === null && conflicts.length > 0 ? send({ preview: true, resolve }, signal) : preview.data), [preview.data, left, JSON.stringify(resolve)]);
  const still = outcome.data?.conflicts ?? [];
  const ready = mayMerge && !!preview.data && left === null && !outcome.loading && !outcome.error && still.length === 0;
  const merge = async () => {
    const done = await send({ message: message.trim() || undefined, resolve: conflicts.length > 0 ? resolve : undefined, delete_branch: remove || undefined });
    toast(`${source} is merged into ${target}.`);
    if (done.branch_delete_error) toast(done.branch_delete_error);
    setMerged(done);
    branches.reload();
  };
  const start = () => {
    if (ready && !busy && merged === null) run(merge);
  };
  const decideAll = (side: 'ours' | 'theirs') => setDecisions(Object.fromEntries(conflicts.filter((each) => each.entity_id !== null).map((each) => [`${each.type_name}/${each.entity_id}`, { whole: side }])));
  useShortcuts([{ keys: 'mod+enter', what: 'Merge', run: start, inInputs: true }]);

  if (merged) {
    return (
      <section className="panel">
        <Empty
          title="Merged"
          action={
            <div className="row">
              {merged.commit && <a className="button" href={commitLink(id, merged.commit.graph_commit_id)}>Open the commit</a>}
              <a className="button" href={href(id, 'overview', { at: `branch:${target}` })}>See {target}</a>
              <button className="button" onClick={() => setParams({ source: undefined, at: undefined })}>Review another branch</button>
            </div>
          }
        >
          {source} is in {target} now{merged.branch_deleted ? ', and the branch is deleted' : ''}.
        </Empty>
      </section>
    );
  }
  if (missing) {
    return (
      <section className="panel">
        <Empty title="There is no such branch">It was merged and deleted, or you may not see it. Choose another one.</Empty>
      </section>
    );
  }
  return (
    <Loaded from={preview} what="Looking what the merge would do">
      {(data) =>
        data.outcome === 'already_up_to_date' ? (
          <section className="panel">
            <Empty title="Nothing to merge">{target} has everything that {source} has.</Empty>
          </section>
        ) : (
          <>
            {conflicts.length > 0 && (
              <Panel
                flush
                title={plural(conflicts.length, 'conflict')}
                actions={
                  <>
                    <button className="button small" onClick={() => decideAll('ours')}>Everything of <span className="clip merge-name">{target}</span></button>
                    <button className="button small" onClick={() => decideAll('theirs')}>Everything of <span className="clip merge-name">{source}</span></button>
                  </>
                }
              >
                <Conflicts conflicts={conflicts} decisions={decisions} onDecide={(key, next) => setDecisions((before) => withDecision(before, key, next))} names={{ base: 'base', ours: target, theirs: source }} schema={schema.data} />
              </Panel>
            )}
            <Panel title={left === null ? `What ${target} will get` : `What ${target} will get, without the conflicts`} flush className="merge-result">
              {outcome.loading && outcome.data && <div className="bar" />}
              {outcome.error ? (
                <Failure error={outcome.error} retry={outcome.reload} title="These decisions do not work" />
              ) : (
                <>
                  <Outcome merged={outcome.data ?? data} schema={schema.data} />
                  {left === null && still.length > 0 && <Conflicts conflicts={still} decisions={{}} onDecide={() => {}} names={{ base: 'base', ours: target, theirs: source }} schema={schema.data} />}
                </>
              )}
            </Panel>
            {mayMerge && (
              <section className="panel merge-do" aria-label="Merge">
                <div className="field">
                  <label htmlFor="merge-message">Message</label>
                  <input id="merge-message" className="input" placeholder={`Merge ${source}`} value={message} onChange={(event) => setMessage(event.target.value)} />
                </div>
                {mayDelete && (
                  <label className="row small">
                    <input type="checkbox" checked={remove} onChange={(event) => setRemove(event.target.checked)} /> delete the branch afterwards
                  </label>
                )}
                {left && <span className="badge warn">{left}</span>}
                <button className="button primary" disabled={!ready || busy} onClick={start}>
                  <GitMerge size={15} /> Merge
                </button>
              </section>
            )}
            {failed !== null && (
              <section className="panel">
                <Failure error={failed} retry={preview.reload} />
              </section>
            )}
            {data.base_commit_id && <Incoming source={source} base={data.base_commit_id} head={data.source_commit_id ?? source} />}
          </>
        )
      }
    </Loaded>
  );
}

function Outcome({ merged, schema }: { merged: Merged; schema: ReturnType<typeof useSchema>['data'] }) {
  const counts = countsOf(merged.changes);
  if (counts.length === 0) return <Empty title="No entity will change">The merge brings a schema or settles the history only.</Empty>;
  return <Counts counts={counts} schema={schema} />;
}

/** What the source did since it was forked. */
function Incoming({ source, base, head }: { source: string; base: string; head: string }) {
  const { id } = useGraph();
  const schema = useSchema({ kind: 'branch', name: source });
  const pages = useChanges(
    async (token, signal) => {
      const page = await ask(api.GET('/graphs/{graph_id}/diff', { params: { path: { graph_id: id }, query: { from: base, to: head, limit: 50, page_token: token } }, signal }));
      return { changes: page.changes.map(ofDiff), next: page.next_page_token, about: page.schema_changes };
    },
    [id, base, head],
  );
  return (
    <Panel title={`Changes on ${source}`} flush>
      <Loaded from={pages.first} what="Reading the changes">
        {({ about }) => (
          <>
            {about.length > 0 && (
              <ul className="schema-told">
                {about.map((each) => (
                  <li key={each.text}>{each.text}</li>
                ))}
              </ul>
            )}
            {pages.changes.length === 0 ? <Empty title="No entity differs">The branch has the entities that it was forked with.</Empty> : <ChangeList changes={pages.changes} schema={schema.data} label={`Changes on ${source}`} />}
            {pages.failed !== null && <Failure error={pages.failed} />}
            {pages.more && (
              <div className="merge-more">
                <button className="button small" disabled={pages.busy} onClick={() => void pages.more?.()}>Show more</button>
              </div>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}
