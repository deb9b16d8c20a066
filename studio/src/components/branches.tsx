// Dialogs that make, rename and delete branches.
import { useState } from 'react';
import { Dialog, Failure, toast } from './basics';
import { api, ask } from '../lib/api/client';
import { useGraph } from '../lib/graph';
import { setParams } from '../lib/router';

/** Runs something once at a time and keeps what went wrong. */
export function useDoing(): { busy: boolean; failed: unknown; run: (work: () => Promise<void>) => void } {
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<unknown>(null);
  const run = (work: () => Promise<void>) => {
    setBusy(true);
    setFailed(null);
    work().catch(setFailed).finally(() => setBusy(false));
  };
  return { busy, failed, run };
}

export function CreateBranch({ from, onClose }: { from: string; onClose: () => void }) {
  const { id, branches } = useGraph();
  const [name, setName] = useState('');
  const [base, setBase] = useState(from);
  const { busy, failed, run } = useDoing();
  const create = async () => {
    await ask(api.POST('/graphs/{graph_id}/branches', { params: { path: { graph_id: id } }, body: { name: name.trim(), from: base } }));
    toast(`The branch ${name.trim()} is there.`);
    branches.reload();
    setParams({ at: `branch:${name.trim()}`, source: name.trim() }, { replace: false });
    onClose();
  };
  return (
    <Dialog title="New branch" onClose={onClose}>
      <form className="stack" onSubmit={(event) => { event.preventDefault(); if (name.trim()) run(create); }}>
        <div className="field">
          <label htmlFor="branch-name">Name</label>
          <input id="branch-name" className="input" value={name} onChange={(event) => setName(event.target.value)} autoFocus />
        </div>
        <div className="field">
          <label htmlFor="branch-from">From</label>
          <select id="branch-from" className="select" value={base} onChange={(event) => setBase(event.target.value)}>
            {(branches.data ?? [base]).map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </div>
        {failed !== null && <Failure error={failed} />}
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>Cancel</button>
          <button className="button primary" disabled={busy || !name.trim()}>Make the branch</button>
        </div>
      </form>
    </Dialog>
  );
}

export function RenameBranch({ name, onClose }: { name: string; onClose: () => void }) {
  const { id, branches } = useGraph();
  const [to, setTo] = useState(name);
  const { busy, failed, run } = useDoing();
  const rename = async () => {
    await ask(api.POST('/graphs/{graph_id}/branches/{branch}/rename', { params: { path: { graph_id: id, branch: name } }, body: { name: to.trim() } }));
    toast(`${name} is called ${to.trim()} now.`);
    branches.reload();
    setParams({ at: `branch:${to.trim()}`, source: to.trim() }, { replace: false });
    onClose();
  };
  return (
    <Dialog title={`Rename ${name}`} onClose={onClose}>
      <form className="stack" onSubmit={(event) => { event.preventDefault(); if (to.trim() && to.trim() !== name) run(rename); }}>
        <div className="field">
          <label htmlFor="branch-to">New name</label>
          <input id="branch-to" className="input" value={to} onChange={(event) => setTo(event.target.value)} autoFocus />
        </div>
        <p className="small muted">Its commits stay what they are. Programs that use the former name are told that there is no such branch.</p>
        {failed !== null && <Failure error={failed} />}
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>Cancel</button>
          <button className="button primary" disabled={busy || !to.trim() || to.trim() === name}>Rename the branch</button>
        </div>
      </form>
    </Dialog>
  );
}

export function DeleteBranch({ name, onClose }: { name: string; onClose: () => void }) {
  const { id, branches } = useGraph();
  const { busy, failed, run } = useDoing();
  const remove = async () => {
    await ask(api.DELETE('/graphs/{graph_id}/branches/{branch}', { params: { path: { graph_id: id, branch: name } } }));
    toast(`The branch ${name} is deleted.`);
    branches.reload();
    setParams({ at: undefined, source: undefined }, { replace: false });
    onClose();
  };
  return (
    <Dialog title={`Delete ${name}?`} onClose={onClose}>
      <p>What was not merged from it is lost. Other branches and tags stay.</p>
      {failed !== null && <Failure error={failed} />}
      <div className="actions">
        <button className="button" onClick={onClose} autoFocus>Keep it</button>
        <button className="button danger" disabled={busy} onClick={() => run(remove)}>Delete the branch</button>
      </div>
    </Dialog>
  );
}
