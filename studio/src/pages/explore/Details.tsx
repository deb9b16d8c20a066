// One node: its values, previews of its blobs, and what happened to it.
import { Pencil, X } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Failure, Tabs } from '../../components/basics';
import { rawFetch } from '../../lib/api/client';
import { titleOf } from '../../lib/entities';
import { bytes, cell } from '../../lib/format';
import { useGraph, usePermissions } from '../../lib/graph';
import { formatPoint, type Point, target } from '../../lib/point';
import { href } from '../../lib/router';
import { type GraphSchema, typeColor } from '../../lib/schema';
import { useStore } from '../../lib/store';
import { isDark } from '../../lib/theme';
import { useAsync } from '../../lib/useAsync';
import { Edit } from './Edit';
import { EntityHistory } from './EntityHistory';
import type { DrawnEntity } from './neighbourhood';

export function Details({ node, point, schema, onSaved, onClose }: { node: DrawnEntity; point: Point; schema: GraphSchema | undefined; onSaved: () => void; onClose: () => void }) {
  const { id } = useGraph();
  const [editing, setEditing] = useState(false);
  const [saved, setSaved] = useState(false);
  const { may, restricted } = usePermissions(point.kind === 'branch' ? point.name : 'main');
  const mayEdit = point.kind === 'branch' && may('change') && !restricted; // the past does not change
  const [tab, setTab] = useState<'values' | 'history'>('values');
  const dark = useStore(isDark);
  return (
    <section className="details">
      <div className="row">
        <span className="dot" style={{ background: typeColor(schema, node.type, dark) }} />
        <h2 className="clip">{titleOf(node.entity, schema, node.type)}</h2>
        <span className="badge">{node.type}</span>
        <button className="button ghost small icon" aria-label="Close the details" title="Back to the list of drawn nodes" onClick={onClose}>
          <X size={15} />
        </button>
      </div>
      <div className="row">
        <Tabs label="About the node" value={tab} onChange={setTab} options={[{ value: 'values', label: 'Values' }, { value: 'history', label: 'History' }]} />
        <span className="spacer" />
        {mayEdit && !editing && tab === 'values' && (
          <button className="button small" onClick={() => setEditing(true)}>
            <Pencil size={13} /> Edit
          </button>
        )}
      </div>
      {saved && point.kind === 'branch' && point.name !== 'main' && (
        <div className="callout good small">
          Saved on {point.name}. <a href={href(id, 'merge', { source: point.name, at: formatPoint(point) })}>Review and merge it</a>
        </div>
      )}
      {tab === 'values' && editing && mayEdit ? <Edit node={node} branch={point.name} schema={schema} onClose={() => setEditing(false)} onSaved={() => { setSaved(true); onSaved(); }} /> : tab === 'values' ? <Values node={node} point={point} schema={schema} /> : <EntityHistory node={node} point={point} />}
    </section>
  );
}

function Values({ node, point, schema }: { node: DrawnEntity; point: Point; schema: GraphSchema | undefined }) {
  const declared = schema?.nodes.find((each) => each.name === node.type)?.properties ?? [];
  const blobs = declared.filter((each) => /^Blob\b/.test(each.type));
  const names = Object.keys(node.entity).filter((name) => !name.startsWith('@') && !blobs.some((each) => each.name === name));
  return (
    <dl className="values">
      {names.map((name) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{node.entity[name] === null ? <span className="muted">null</span> : cell(node.entity[name])}</dd>
        </div>
      ))}
      {blobs.map((each) => (
        <div key={each.name}>
          <dt>{each.name}</dt>
          <dd>
            <Blob node={node} property={each.name} point={point} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

const SHOWN = 2_000_000;

/** A blob, as a picture or as text where it is one; fetched with the token, shown from memory. */
function Blob({ node, property, point }: { node: DrawnEntity; property: string; point: Point }) {
  const { id: graph } = useGraph();
  const [url, setUrl] = useState<string | null>(null);
  const found = useAsync(
    async (signal) => {
      const query = new URLSearchParams({ entity: 'node', type: node.type, id: node.id, property, ...target(point) });
      const response = await rawFetch(`/graphs/${encodeURIComponent(graph)}/blob?${query}`, { signal, headers: { Range: `bytes=0-${SHOWN - 1}` } });
      const content = new Uint8Array(await response.arrayBuffer());
      return { content, kind: kindOf(content) };
    },
    [graph, node.type, node.id, property, point],
  );
  const picture = found.data?.kind.startsWith('image/') ? found.data : undefined;
  useEffect(() => {
    if (!picture) return;
    const made = URL.createObjectURL(new window.Blob([picture.content], { type: picture.kind }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [picture]);
  if (found.error) return <Failure error={found.error} title="No preview" />;
  if (!found.data) return <span className="muted">…</span>;
  if (picture) return url ? <img className="blob" src={url} alt={`${property} of ${node.id}`} /> : null;
  if (found.data.kind === 'text/plain') return <pre className="blob">{new TextDecoder().decode(found.data.content.slice(0, 4000))}</pre>;
  return <span className="muted">{bytes(found.data.content.length)}</span>;
}

/** By its first bytes; nothing that could run is ever shown as more than text. */
function kindOf(content: Uint8Array): string {
  const starts = (...wanted: number[]) => wanted.every((byte, at) => content[at] === byte);
  if (starts(0x89, 0x50, 0x4e, 0x47)) return 'image/png';
  if (starts(0xff, 0xd8, 0xff)) return 'image/jpeg';
  if (starts(0x47, 0x49, 0x46)) return 'image/gif';
  if (starts(0x52, 0x49, 0x46, 0x46) && content[8] === 0x57 && content[9] === 0x45) return 'image/webp';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(content.slice(0, 4000), { stream: true });
    return content.slice(0, 4000).includes(0) ? 'application/octet-stream' : 'text/plain';
  } catch {
    return 'application/octet-stream';
  }
}
