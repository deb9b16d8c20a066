// Chooses the point of history that pages show: a branch, a tag, a commit or an instant.
import { ArrowRight, GitBranch, GitBranchPlus, History, Tag } from 'lucide-react';
import { useState } from 'react';
import { useGraph, usePermissions } from '../lib/graph';
import { type Point, pointLabel, usePoint } from '../lib/point';
import { api, ask } from '../lib/api/client';
import { useAsync } from '../lib/useAsync';
import { ago } from '../lib/format';
import { Menu } from './basics';
import { CreateBranch } from './branches';

export function PointPicker() {
  const [point, setPoint] = usePoint();
  const branch = point.kind === 'branch' ? point.name : 'main';
  const { may } = usePermissions(branch);
  const [making, setMaking] = useState(false);
  return (
    <>
      <PointMenu value={point} onChange={setPoint} label="Branch, tag, commit or instant" onNew={may('branch_create') ? () => setMaking(true) : undefined} />
      {making && <CreateBranch from={branch} onClose={() => setMaking(false)} />}
    </>
  );
}

/** The same menu for a point that a page keeps for itself. */
export function PointMenu({ value, onChange, label, onNew }: { value: Point; onChange: (next: Point) => void; label: string; onNew?: () => void }) {
  const Icon = value.kind === 'branch' ? GitBranch : History;
  return (
    <Menu
      label={`${label}: ${pointLabel(value)}`}
      button={
        <>
          <Icon size={15} /> <span className="clip point-label">{pointLabel(value)}</span>
        </>
      }
    >
      {(close) => <Choices value={value} onChange={(next) => { close(); onChange(next); }} onNew={onNew && (() => { close(); onNew(); })} />}
    </Menu>
  );
}

function Choices({ value, onChange, onNew }: { value: Point; onChange: (next: Point) => void; onNew?: () => void }) {
  const { id, branches, tags } = useGraph();
  const [text, setText] = useState('');
  const branch = value.kind === 'branch' ? value.name : 'main';
  const commits = useAsync(async (signal) => (await ask(api.GET('/graphs/{graph_id}/commits', { params: { path: { graph_id: id }, query: { branch, limit: 12 } }, signal }))).commits, [id, branch]);
  const wanted = text.trim().toLowerCase();
  const fits = (name: string) => name.toLowerCase().includes(wanted);
  const recent = (commits.data ?? []).filter((each) => fits(each.message ?? '') || fits(each.graph_commit_id));
  const goTo = () => {
    const name = text.trim();
    if (name) onChange(branches.data?.includes(name) ? { kind: 'branch', name } : { kind: 'snapshot', id: name });
  };
  return (
    <>
      <form
        className="point-form"
        onSubmit={(event) => {
          event.preventDefault();
          goTo();
        }}
      >
        <input className="input" value={text} onChange={(event) => setText(event.target.value)} aria-label="Name, commit id or time" placeholder="Name, commit id, 2026-11-01T12:00Z" />
      </form>
      {wanted && (
        <button onClick={goTo}>
          <ArrowRight size={14} /> <span className="clip">Go to “{text.trim()}”</span>
          <kbd>Enter</kbd>
        </button>
      )}
      {(branches.data ?? []).some(fits) && <h3>Branches</h3>}
      {branches.data?.filter(fits).map((name) => (
        <button key={name} onClick={() => onChange({ kind: 'branch', name })} aria-current={value.kind === 'branch' && value.name === name}>
          <GitBranch size={14} /> <span className="clip">{name}</span>
        </button>
      ))}
      {onNew && !wanted && (
        <button onClick={onNew}>
          <GitBranchPlus size={14} /> <span>New branch…</span>
        </button>
      )}
      {!!tags.data?.some((each) => fits(each.name)) && <h3>Tags</h3>}
      {tags.data?.filter((each) => fits(each.name)).map((each) => (
        <button key={each.name} onClick={() => onChange({ kind: 'snapshot', id: each.name })}>
          <Tag size={14} /> <span className="clip">{each.name}</span>
        </button>
      ))}
      {recent.length > 0 && <h3>Newest commits of {branch}</h3>}
      {recent.map((each) => (
        <button key={each.graph_commit_id} onClick={() => onChange({ kind: 'snapshot', id: each.graph_commit_id })}>
          <History size={14} /> <span className="clip">{each.message ?? each.kind ?? each.graph_commit_id}</span>
          <span className="muted small">{ago(each.created_at)}</span>
        </button>
      ))}
    </>
  );
}
