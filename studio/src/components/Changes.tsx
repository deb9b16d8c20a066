// Changes of entities, property by property: of a commit, between two points, or as they happen.
import { ArrowRight } from 'lucide-react';
import type { Schemas } from '../lib/api/client';
import { cell, count } from '../lib/format';
import { type GraphSchema, typeColor } from '../lib/schema';
import { useStore } from '../lib/store';
import { isDark } from '../lib/theme';
import './changes.css';

export interface Change {
  kind: 'node' | 'edge';
  type: string;
  id: string;
  op: 'insert' | 'update' | 'delete';
  ends: { from: string; to: string } | null;
  before: Record<string, unknown>;
  after: Record<string, unknown>;
}

/** A change as commits and feeds tell it. */
export function ofCommit(change: Schemas['EntityChangeOutput']): Change {
  const image = change.after ?? change.before;
  return { kind: change.kind, type: change.type.name, id: change.id, op: change.op, ends: image?.endpoints ?? null, before: change.before?.properties ?? {}, after: change.after?.properties ?? {} };
}

/** A change as a difference tells it, where the ends of an edge are among the values. */
export function ofDiff(change: Schemas['DiffChangeOutput']): Change {
  const without = (values: Record<string, unknown> | null) => Object.fromEntries(Object.entries(values ?? {}).filter(([name]) => change.kind === 'node' || (name !== 'src' && name !== 'dst')));
  const ends = change.endpoints ? { from: change.endpoints.src, to: change.endpoints.dst } : null;
  return { kind: change.kind, type: change.type_name, id: change.id, op: change.op, ends, before: without(change.before), after: without(change.after) };
}

const WORDS = { insert: 'added', update: 'changed', delete: 'removed' } as const;
const TONES = { insert: 'good', update: 'accent', delete: 'bad' } as const;

const same = (one: unknown, other: unknown) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

/** The properties that have another value after the change. */
export function touched({ before, after }: Change): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.filter((name) => !same(before[name], after[name]));
}

export function ChangeList({ changes, schema, label }: { changes: Change[]; schema: GraphSchema | undefined; label: string }) {
  const dark = useStore(isDark);
  return (
    <ul className="changes" aria-label={label}>
      {changes.map((change) => (
        <li key={`${change.kind}/${change.type}/${change.id}/${change.op}`} className={change.op}>
          <div className="change-head">
            <span className="dot" style={{ background: typeColor(schema, change.type, dark), borderRadius: change.kind === 'edge' ? 2 : undefined }} />
            <span className="muted small">{change.type}</span>
            {change.ends ? (
              <span className="row ends" title={change.id}>
                <strong className="clip">{change.ends.from}</strong> <ArrowRight size={13} aria-label="to" /> <strong className="clip">{change.ends.to}</strong>
              </span>
            ) : (
              <strong className="clip" title={change.id}>{change.id}</strong>
            )}
            <span className="spacer" />
            <span className={`badge ${TONES[change.op]}`}>{WORDS[change.op]}</span>
          </div>
          <Properties change={change} />
        </li>
      ))}
    </ul>
  );
}

function Properties({ change }: { change: Change }) {
  const names = touched(change);
  if (names.length === 0) return null;
  return (
    <dl className="change-values">
      {names.map((name) => (
        <div key={name}>
          <dt className="clip" title={name}>{name}</dt>
          <dd>
            {change.op !== 'insert' && <Value value={change.before[name]} tone="before" />}
            {change.op === 'update' && <ArrowRight size={13} className="muted" aria-label="became" />}
            {change.op !== 'delete' && <Value value={change.after[name]} tone="after" />}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Value({ value, tone }: { value: unknown; tone?: 'before' | 'after' }) {
  const text = cell(value);
  const shown = text.length > 400 ? `${text.slice(0, 400)}…` : text;
  const inner = value === null || value === undefined ? <em className="nothing">nothing</em> : text === '' ? <em className="nothing">empty text</em> : shown;
  if (tone === 'before') return <del className="value before">{inner}</del>;
  return <span className={`value ${tone ?? ''}`}>{inner}</span>;
}

export interface RowCounts {
  inserted: number;
  updated: number;
  deleted: number;
}

/** Counts by type, as commits, previews of merges and reverts tell them. */
export function countsOf(told: Record<string, unknown> | undefined): [string, RowCounts][] {
  return Object.entries(told ?? {})
    .map(([type, value]): [string, RowCounts] => [type, { inserted: 0, updated: 0, deleted: 0, ...(value as Partial<RowCounts>) }])
    .sort(([one], [other]) => one.localeCompare(other));
}

export function Counts({ counts, schema, chosen, onChoose }: { counts: [string, RowCounts][]; schema: GraphSchema | undefined; chosen?: string | null; onChoose?: (type: string | null) => void }) {
  const dark = useStore(isDark);
  return (
    <table className="plain counts">
      <thead>
        <tr>
          <th>Type</th>
          <th className="num">Added</th>
          <th className="num">Changed</th>
          <th className="num">Removed</th>
        </tr>
      </thead>
      <tbody>
        {counts.map(([type, { inserted, updated, deleted }]) => (
          <tr key={type}>
            <td>
              <span className="row count-type">
                <span className="dot" style={{ background: typeColor(schema, type, dark) }} />
                {onChoose ? (
                  <button className="link clip" aria-pressed={chosen === type} title={chosen === type ? 'Show every type again' : `Show only ${type}`} onClick={() => onChoose(chosen === type ? null : type)}>
                    {type}
                  </button>
                ) : (
                  <span className="clip">{type}</span>
                )}
              </span>
            </td>
            <td className="num good-text">{inserted ? `+${count(inserted)}` : ''}</td>
            <td className="num">{updated ? count(updated) : ''}</td>
            <td className="num bad-text">{deleted ? `−${count(deleted)}` : ''}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
