// Undoing a commit by another one: what it would do, conflicts with later commits, and then the commit.
import { useState } from 'react';
import { Counts, countsOf } from '../../components/Changes';
import { Conflicts, type Decisions, leftToDecide, resolveOf, withDecision } from '../../components/Conflicts';
import { Dialog, Empty, Failure, Loaded, toast } from '../../components/basics';
import { api, ask, type Schemas } from '../../lib/api/client';
import { useGraph } from '../../lib/graph';
import type { GraphSchema } from '../../lib/schema';
import { useAsync } from '../../lib/useAsync';

export function Revert({ commit, branch, schema, onClose, onDone }: { commit: Schemas['CommitOutput']; branch: string; schema: GraphSchema | undefined; onClose: () => void; onDone: () => void }) {
  const { id } = useGraph();
  const what = commit.message ?? commit.kind ?? 'a commit';
  const [message, setMessage] = useState(`Revert: ${what}`);
  const [decisions, setDecisions] = useState<Decisions>({});
  const [failed, setFailed] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const revert = (body: Schemas['ReplayRequest'], signal?: AbortSignal) =>
    ask(api.POST('/graphs/{graph_id}/commits/{commit_id}/revert', { params: { path: { graph_id: id, commit_id: commit.graph_commit_id } }, body: { branch, ...body }, signal }));
  const preview = useAsync((signal) => revert({ preview: true }, signal), [id, branch, commit.graph_commit_id]);
  const conflicts = preview.data?.conflicts ?? [];
  const left = leftToDecide(conflicts, decisions);
  const counts = countsOf(preview.data?.changes);
  const nothing = preview.data !== undefined && counts.length === 0 && conflicts.length === 0;
  const apply = async () => {
    setBusy(true);
    setFailed(null);
    try {
      await revert({ message: message.trim() || undefined, resolve: resolveOf(conflicts, decisions) });
      toast(`Reverted on ${branch}: ${what}`);
      onDone();
      onClose();
    } catch (error) {
      setFailed(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Revert on ${branch}`} onClose={onClose} wide>
      <p className="muted">A new commit takes back what “{what}” did. The history stays.</p>
      <Loaded from={preview} what="Looking what it would do">
        {() => (
          <>
            {nothing && <Empty title="Nothing to take back">Later commits did so already.</Empty>}
            {counts.length > 0 && <Counts counts={counts} schema={schema} />}
            {conflicts.length > 0 && (
              <div className="panel">
                <Conflicts conflicts={conflicts} decisions={decisions} onDecide={(key, next) => setDecisions((before) => withDecision(before, key, next))} names={{ base: 'after the commit', ours: branch, theirs: 'before the commit' }} schema={schema} />
              </div>
            )}
          </>
        )}
      </Loaded>
      <div className="field">
        <label htmlFor="revert-message">Message</label>
        <input id="revert-message" className="input" value={message} onChange={(event) => setMessage(event.target.value)} />
      </div>
      {failed !== null && <Failure error={failed} />}
      <div className="actions">
        {left && <span className="badge warn">{left}</span>}
        <button className="button" onClick={onClose}>Cancel</button>
        <button className="button primary" disabled={busy || !preview.data || nothing || left !== null} onClick={() => void apply()}>
          Revert
        </button>
      </div>
    </Dialog>
  );
}
