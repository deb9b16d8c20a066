// The values of a node as a form; saving is one commit on the branch that is shown.
import { useState } from 'react';
import { Failure, toast } from '../../components/basics';
import { api, ask } from '../../lib/api/client';
import { useGraph } from '../../lib/graph';
import type { GraphSchema, Property } from '../../lib/schema';
import type { DrawnEntity } from './neighbourhood';

const NUMBER = /^(I8|I16|I32|I64|U8|U16|U32|U64|F32|F64)\b/;

export function Edit({ node, branch, schema, onClose, onSaved }: { node: DrawnEntity; branch: string; schema: GraphSchema | undefined; onClose: () => void; onSaved: () => void }) {
  const { id } = useGraph();
  const declared = schema?.nodes.find((each) => each.name === node.type);
  const editable = (declared?.properties ?? []).filter((each) => !each.key && !/^(Blob|Vector|\[)/.test(each.type));
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(editable.map((each) => [each.name, shown(node.entity[each.name])])));
  const [message, setMessage] = useState('');
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<unknown>(null);
  const changed = editable.filter((each) => texts[each.name] !== shown(node.entity[each.name]));
  const save = () => {
    setBusy(true);
    setFailed(null);
    const keys = (declared?.properties ?? []).filter((each) => each.key).map((each) => [each.name, JSON.stringify(node.entity[each.name])]);
    const members = [...(keys.length > 0 ? keys : [['id', JSON.stringify(node.id)]]), ...changed.map((each) => [each.name, written(each, texts[each.name]!)])];
    const data = `{"type": ${JSON.stringify(node.type)}, "data": {${members.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(', ')}}}`;
    ask(api.POST('/graphs/{graph_id}/load', { params: { path: { graph_id: id } }, body: { data, mode: 'patch', branch, message: message.trim() || `Edit ${node.type} ${node.id}` } }))
      .then(() => {
        toast(`Saved on ${branch}.`);
        onSaved();
        onClose();
      }, setFailed)
      .finally(() => setBusy(false));
  };
  return (
    <form className="stack edit-node" aria-label={`Edit ${node.id}`} onSubmit={(event) => { event.preventDefault(); if (changed.length > 0) save(); }}>
      {editable.length === 0 && <p className="muted small">This type has no values that can be edited here.</p>}
      {editable.map((each) => (
        <div className="field" key={each.name}>
          <label htmlFor={`edit-${each.name}`}>
            {each.name} <span className="muted small">{choicesOf(each) ? '' : each.type}</span>
          </label>
          {choicesOf(each) ? (
            <select id={`edit-${each.name}`} className="select" value={texts[each.name]} onChange={(event) => setTexts({ ...texts, [each.name]: event.target.value })}>
              {each.optional && <option value="">null</option>}
              {choicesOf(each)!.map((choice) => (
                <option key={choice}>{choice}</option>
              ))}
            </select>
          ) : (
            <input id={`edit-${each.name}`} className="input" value={texts[each.name]} placeholder={each.optional ? 'null' : undefined} inputMode={NUMBER.test(each.type) ? 'decimal' : undefined} onChange={(event) => setTexts({ ...texts, [each.name]: event.target.value })} />
          )}
        </div>
      ))}
      <input className="input" aria-label="Message" placeholder="Message" value={message} onChange={(event) => setMessage(event.target.value)} />
      {editable.length > 0 && changed.length === 0 && <p className="muted small">Nothing is changed yet. Saving makes one commit on {branch}.</p>}
      {failed !== null && <Failure error={failed} />}
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>Cancel</button>
        <button className="button primary" disabled={busy || changed.length === 0}>Save on {branch}</button>
      </div>
    </form>
  );
}

/** The values that a property can have, where they are few. */
function choicesOf({ type }: Property): string[] | null {
  if (/^Bool/.test(type)) return ['true', 'false'];
  return /^enum\(([^)]*)\)/.exec(type)?.[1]?.split(',').map((each) => each.trim()) ?? null;
}

function shown(value: unknown): string {
  return value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A text as the JSON value of a property; a number keeps all its digits, what is no number is left for the server to refuse. */
function written(property: Property, text: string): string {
  if (text === '' && property.optional) return 'null';
  if (NUMBER.test(property.type) && /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text.trim())) return text.trim().replace(/^(-?)0+(?=\d)/, '$1');
  if (/^Bool/.test(property.type) && (text === 'true' || text === 'false')) return text;
  return JSON.stringify(text);
}
