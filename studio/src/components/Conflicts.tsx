// Contradictions between two sides, in three columns, decided per property or per entity.
import { Check } from 'lucide-react';
import type { Schemas } from '../lib/api/client';
import { plural } from '../lib/format';
import { type GraphSchema, typeColor } from '../lib/schema';
import { useStore } from '../lib/store';
import { isDark } from '../lib/theme';
import { Value } from './Changes';
import './conflicts.css';

export type Conflict = Schemas['MergeConflictOutput'];
export type Side = 'base' | 'ours' | 'theirs';
/** What was chosen for an entity: one side as a whole, or a side for each property. */
export type Decision = { whole: 'ours' | 'theirs' } | { each: Record<string, Side> };
export type Decisions = Record<string, Decision>;

const ROWS = new Set(['divergent_insert', 'divergent_update', 'delete_vs_update']);
const KINDS: Record<Conflict['kind'], string> = {
  divergent_insert: 'added on both sides',
  divergent_update: 'changed on both sides',
  delete_vs_update: 'removed on one side, changed on the other',
  orphan_edge: 'an edge would lose its end',
  unique_violation: 'a unique value would be there twice',
  cardinality_violation: 'too many or too few edges',
  value_constraint_violation: 'a value is not allowed',
  schema_conflict: 'the schemas contradict each other',
};

export const conflictKey = (conflict: Conflict): string => `${conflict.type_name}/${conflict.entity_id ?? ''}`;

/** Whether a choice between two rows settles it; other contradictions are mended on a branch. */
export const isDecidable = (conflict: Conflict): boolean => conflict.entity_id !== null && ROWS.has(conflict.kind);

const has = (values: unknown): values is Record<string, unknown> => typeof values === 'object' && values !== null;

/** Numbers that JavaScript rounds must not be sent back: such an entity is decided as a whole. */
const isExact = (value: unknown) => typeof value !== 'string' || !/^-?\d{16,20}$/.test(value) || Number.isSafeInteger(Number(value));

function byProperty(conflict: Conflict): boolean {
  const sides = [conflict.base, conflict.ours, conflict.theirs];
  return has(conflict.ours) && has(conflict.theirs) && sides.every((side) => !has(side) || Object.values(side).every(isExact));
}

export function sideOf(decision: Decision | undefined, property: string): Side | undefined {
  if (!decision) return undefined;
  return 'whole' in decision ? decision.whole : decision.each[property];
}

/** Whether nothing is left to choose. */
export function isDecided(conflict: Conflict, decision: Decision | undefined): boolean {
  if (!decision) return false;
  return 'whole' in decision || (conflict.properties ?? []).every((name) => decision.each[name] !== undefined);
}

const ENDS: Record<string, string> = { src: 'from', dst: 'to' };

/** The member `resolve` of a request: our row stays where nothing of another side was chosen. */
export function resolveOf(conflicts: Conflict[], decisions: Decisions): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const conflict of conflicts) {
    const key = conflictKey(conflict);
    const decision = decisions[key];
    if (!decision || !isDecided(conflict, decision)) continue;
    if ('whole' in decision) {
      found[key] = decision.whole;
      continue;
    }
    const sides = Object.values(decision.each);
    if (sides.every((side) => side === 'ours') || sides.every((side) => side === 'theirs')) {
      found[key] = sides[0];
      continue;
    }
    const values: Record<string, unknown> = {};
    for (const [name, side] of Object.entries(decision.each)) {
      if (side === 'ours') continue;
      const told = conflict[side];
      values[conflict.entity_kind === 'edge' ? (ENDS[name] ?? name) : name] = has(told) ? (told[name] ?? null) : null;
    }
    found[key] = values;
  }
  return found;
}

interface Props {
  conflicts: Conflict[];
  decisions: Decisions;
  onDecide: (key: string, next: Decision | undefined) => void;
  names: Record<Side, string>; // what the columns are called
  schema: GraphSchema | undefined;
}

export function Conflicts({ conflicts, decisions, onDecide, names, schema }: Props) {
  const dark = useStore(isDark);
  return (
    <div className="conflicts">
      {conflicts.map((conflict, at) => {
        const key = conflictKey(conflict);
        const decision = decisions[key];
        return (
          <section key={`${key}/${conflict.kind}/${at}`} className="conflict" aria-label={`${conflict.type_name} ${conflict.entity_id ?? ''}`}>
            <header>
              <span className="dot" style={{ background: typeColor(schema, conflict.type_name, dark) }} />
              <span className="muted small">{conflict.type_name}</span>
              <strong className="clip">{conflict.entity_id}</strong>
              <span className="badge warn">{KINDS[conflict.kind] ?? conflict.kind}</span>
              <span className="spacer" />
              {isDecidable(conflict) && isDecided(conflict, decision) && (
                <span className="badge good">
                  <Check size={12} /> decided
                </span>
              )}
              {isDecidable(conflict) && <Whole decision={decision} names={names} decide={(next) => onDecide(key, next)} />}
            </header>
            {isDecidable(conflict) ? <Columns conflict={conflict} decision={decision} names={names} decide={(next) => onDecide(key, next)} /> : <Unmended conflict={conflict} />}
          </section>
        );
      })}
    </div>
  );
}

function Whole({ decision, names, decide }: { decision: Decision | undefined; names: Record<Side, string>; decide: (next: Decision) => void }) {
  const chosen = decision && 'whole' in decision ? decision.whole : undefined;
  return (
    <span className="row whole" role="group" aria-label="The whole entity">
      {(['ours', 'theirs'] as const).map((side) => (
        <button key={side} className="button small" aria-pressed={chosen === side} onClick={() => decide({ whole: side })}>
          All of <span className="clip">{names[side]}</span>
        </button>
      ))}
    </span>
  );
}

function Unmended({ conflict }: { conflict: Conflict }) {
  return (
    <p className="unmended">
      {conflict.message}. <span className="muted">No choice between the two sides settles this: mend it on one of the branches, then look again.</span>
    </p>
  );
}

function Columns({ conflict, decision, names, decide }: { conflict: Conflict; decision: Decision | undefined; names: Record<Side, string>; decide: (next: Decision) => void }) {
  const properties = conflict.properties ?? [];
  const single = byProperty(conflict);
  const choose = (name: string, side: Side) => {
    const before = decision === undefined ? {} : 'whole' in decision ? Object.fromEntries(properties.map((each): [string, Side] => [each, decision.whole])) : decision.each;
    decide({ each: { ...before, [name]: side } });
  };
  const value = (side: Side, name: string) => {
    const told = conflict[side];
    return has(told) ? told[name] : undefined;
  };
  return (
    <div className="conflict-scroll" tabIndex={0} role="region" aria-label={`Values of ${conflict.entity_id ?? conflict.type_name}`}>
      <table className="plain">
        <thead>
          <tr>
            <th>Property</th>
            <th>Base</th>
            <th>Ours: {names.ours}</th>
            <th>Theirs: {names.theirs}</th>
            <th>Result</th>
          </tr>
        </thead>
        <tbody>
          {properties.length === 0 && (
            <tr>
              <td className="muted">the entity</td>
              {(['base', 'ours', 'theirs'] as const).map((side) => (
                <td key={side}>{has(conflict[side]) ? 'there' : <span className="muted">not there</span>}</td>
              ))}
              <td>{decision && 'whole' in decision ? `as in ${names[decision.whole]}` : <span className="muted">to decide</span>}</td>
            </tr>
          )}
          {properties.map((name) => {
            const chosen = sideOf(decision, name);
            return (
              <tr key={name}>
                <td className="clip">{name}</td>
                {(['base', 'ours', 'theirs'] as const).map((side) => (
                  <td key={side} className="side">
                    {!has(conflict[side]) ? (
                      <span className="muted">not there</span>
                    ) : single ? (
                      <button aria-pressed={chosen === side} title={`Take this value of ${name}`} onClick={() => choose(name, side)}>
                        <Value value={value(side, name)} />
                      </button>
                    ) : (
                      <Value value={value(side, name)} />
                    )}
                  </td>
                ))}
                <td className="result">{chosen === undefined ? <span className="muted">to decide</span> : has(conflict[chosen]) ? <Value value={value(chosen, name)} tone="after" /> : <span className="muted">removed</span>}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** How many are left, as a sentence. */
export function leftToDecide(conflicts: Conflict[], decisions: Decisions): string | null {
  const stuck = conflicts.filter((each) => !isDecidable(each)).length;
  const open = conflicts.filter((each) => isDecidable(each) && !isDecided(each, decisions[conflictKey(each)])).length;
  if (stuck > 0) return `${plural(stuck, 'conflict')} cannot be settled here`;
  return open > 0 ? `${plural(open, 'conflict')} to decide` : null;
}

export function withDecision(before: Decisions, key: string, next: Decision | undefined): Decisions {
  const { [key]: _, ...others } = before;
  return next === undefined ? others : { ...others, [key]: next };
}
