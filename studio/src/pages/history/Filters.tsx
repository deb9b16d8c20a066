// Which commits are listed; kept in the address, so that a link shows the same.
import { useEffect, useState } from 'react';
import { setParams } from '../../lib/router';
import type { GraphSchema } from '../../lib/schema';

export interface Wanted {
  every: boolean;
  kind: string;
  actor: string;
  message: string;
  type: string;
  maintenance: boolean;
}

const KINDS = ['init', 'load', 'mutate', 'merge', 'revert', 'cherry-pick', 'schema'];

export function Filters({ wanted, branch, schema }: { wanted: Wanted; branch: string; schema: GraphSchema | undefined }) {
  const types = schema ? [...schema.nodes, ...schema.edges].map((each) => each.name) : [];
  return (
    <form className="filters" role="search" aria-label="Filter commits" onSubmit={(event) => event.preventDefault()}>
      <Typed id="commit-message" name="message" label="Message" value={wanted.message} />
      <Typed id="commit-actor" name="actor" label="Actor" value={wanted.actor} />
      <select className="select" aria-label="Branches" value={wanted.every ? 'every' : 'one'} onChange={(event) => setParams({ every: event.target.value === 'one' ? 'no' : undefined })}>
        <option value="every">Every branch</option>
        <option value="one">Only {branch}</option>
      </select>
      <select className="select" aria-label="Kind" value={wanted.kind} onChange={(event) => setParams({ kind: event.target.value || undefined })}>
        <option value="">Any kind</option>
        {KINDS.map((kind) => (
          <option key={kind}>{kind}</option>
        ))}
      </select>
      <select className="select" aria-label="Type" value={wanted.type} onChange={(event) => setParams({ type: event.target.value || undefined })}>
        <option value="">Any type</option>
        {types.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <label className="row small">
        <input type="checkbox" checked={wanted.maintenance} onChange={(event) => setParams({ maintenance: event.target.checked ? 'yes' : undefined })} /> maintenance
      </label>
    </form>
  );
}

/** A text that filters when typing pauses. */
function Typed({ id, name, label, value }: { id: string; name: string; label: string; value: string }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => setParams({ [name]: text.trim() || undefined }), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return <input id={id} className="input" aria-label={label} placeholder={label} value={text} onChange={(event) => setText(event.target.value)} />;
}
