// Review of a merge: what comes in, what contradicts, what the result will be; and branches made, renamed and deleted.
import { ArrowRight, GitBranch, GitBranchPlus, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Empty, Loaded, Page, Panel } from '../../components/basics';
import { CreateBranch, DeleteBranch, RenameBranch } from '../../components/branches';
import { api, ask } from '../../lib/api/client';
import { count } from '../../lib/format';
import { useGraph, usePermissions } from '../../lib/graph';
import { usePoint } from '../../lib/point';
import { setParams, usePlace } from '../../lib/router';
import { useShortcuts } from '../../lib/shortcuts';
import { useAsync } from '../../lib/useAsync';
import { Review } from './Review';
import './merge.css';

export default function Merge() {
  const { id, branches } = useGraph();
  const { params } = usePlace();
  const [point] = usePoint();
  const shown = point.kind === 'branch' && point.name !== 'main' ? point.name : null;
  const source = params.get('source') ?? shown;
  const target = params.get('target') ?? 'main';
  const ofTarget = usePermissions(target);
  const ofSource = usePermissions(source ?? target);
  const missing = branches.data !== undefined && source !== null && !(branches.data.includes(source) && branches.data.includes(target));
  const [dialog, setDialog] = useState<'create' | 'rename' | 'delete' | null>(null);
  const described = useAsync(async (signal) => (await ask(api.GET('/graphs/{graph_id}/describe', { params: { path: { graph_id: id } }, signal }))).divergence, [id, branches.data]);
  const distance = new Map(described.data?.map((each) => [each.branch, each]));
  const mayCreate = ofTarget.may('branch_create');
  const mayDelete = source !== null && source !== 'main' && ofSource.may('branch_delete');
  const mayRename = mayDelete && ofSource.may('branch_create');
  useShortcuts([{ keys: 'n', what: 'Make a new branch', run: () => mayCreate && setDialog('create') }]);
  return (
    <Page
      title="Merge review"
      actions={
        <>
          {mayDelete && (
            <button className="button danger" onClick={() => setDialog('delete')}>
              <Trash2 size={15} /> Delete <span className="clip merge-name">{source}</span>
            </button>
          )}
          {mayRename && (
            <button className="button" onClick={() => setDialog('rename')}>
              <Pencil size={15} /> Rename…
            </button>
          )}
          {mayCreate && (
            <button className="button" onClick={() => setDialog('create')}>
              <GitBranchPlus size={15} /> New branch…
            </button>
          )}
        </>
      }
    >
      <div className="merge">
        <Panel title="Branches" flush className="merge-branches">
          <Loaded from={branches}>
            {(names) =>
              names.length < 2 ? (
                <Empty title="Only main">{mayCreate ? 'Make a branch, change something on it, and review it here.' : 'There is nothing to merge yet.'}</Empty>
              ) : (
                <ul>
                  {names.filter((name) => name !== target).map((name) => (
                    <li key={name}>
                      <button aria-current={name === source} onClick={() => setParams({ source: name }, { replace: false })}>
                        <GitBranch size={14} /> <span className="clip">{name}</span>
                        {distance.has(name) && name !== 'main' && (
                          <span className="muted small" title="commits ahead of main and behind it">
                            +{count(distance.get(name)!.ahead)} −{count(distance.get(name)!.behind)}
                          </span>
                        )}
                      </button>
                    </li>
                  ))}
                </ul>
              )
            }
          </Loaded>
        </Panel>
        <div className="stack merge-main">
          {source === null || source === target ? (
            <section className="panel">
              <Empty title="Choose the branch to merge">What it changed, and what contradicts {target}, is shown before anything happens.</Empty>
            </section>
          ) : (
            <>
              <section className="panel merge-ends" aria-label="Source and target">
                <strong className="clip">{source}</strong> <ArrowRight size={16} aria-label="into" />
                <label className="row">
                  <span className="visually-hidden">Target</span>
                  <select className="select" value={target} onChange={(event) => setParams({ target: event.target.value === 'main' ? undefined : event.target.value })}>
                    {(branches.data ?? [target]).filter((name) => name !== source).map((name) => (
                      <option key={name}>{name}</option>
                    ))}
                  </select>
                </label>
                <span className="muted small">Nothing is written before you press Merge.</span>
              </section>
              {ofTarget.known && ofSource.known && (ofTarget.restricted || ofSource.restricted) ? (
                <section className="panel">
                  <Empty title="A merge is not shown">You see a part of this graph. Merges are reviewed by those who may read all of it.</Empty>
                </section>
              ) : (
                (missing || (ofTarget.known && ofSource.known)) && <Review key={`${source}\n${target}`} missing={missing} source={source} target={target} mayMerge={ofTarget.may('branch_merge')} mayDelete={mayDelete} />
              )}
            </>
          )}
        </div>
      </div>
      {dialog === 'create' && <CreateBranch from={point.kind === 'branch' ? point.name : 'main'} onClose={() => setDialog(null)} />}
      {dialog === 'rename' && source !== null && <RenameBranch name={source} onClose={() => setDialog(null)} />}
      {dialog === 'delete' && source !== null && <DeleteBranch name={source} onClose={() => setDialog(null)} />}
    </Page>
  );
}
