// Walk the graph: find a node, open its edges by type, look at its values, and move through time.
import { Eraser, Minus, Plus } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import { Empty, Failure, Page } from '../../components/basics';
import { GraphCanvas } from '../../components/graph/GraphCanvas';
import { type NodeRef, keyOf, titleOf } from '../../lib/entities';
import { count, plural } from '../../lib/format';
import { useGraph, useSchema } from '../../lib/graph';
import { usePoint } from '../../lib/point';
import { setParams, usePlace } from '../../lib/router';
import { edgeWord, typeColor } from '../../lib/schema';
import { useShortcuts } from '../../lib/shortcuts';
import { useStore } from '../../lib/store';
import { isDark } from '../../lib/theme';
import { useAsync } from '../../lib/useAsync';
import { Details } from './Details';
import { Find } from './Find';
import { type Group, MOST, neighbours, type Opened, openedKey, picture } from './neighbourhood';
import { TimeSlider, useMoment } from './TimeSlider';
import './explore.css';

export default function Explore() {
  const { id: graph } = useGraph();
  const { params } = usePlace();
  const [branchPoint] = usePoint();
  const moment = useMoment(branchPoint);
  const schema = useSchema(moment.point);
  const dark = useStore(isDark);
  const [roots, setRoots] = useState<NodeRef[]>(() => parseRefs(params.get('nodes')));
  const [opened, setOpened] = useState<Opened[]>([]);
  const [selected, setSelected] = useState<string | null>(() => (roots[0] ? keyOf(roots[0]) : null));
  const fresh = moment.head ?? '';

  useEffect(() => setParams({ nodes: roots.length ? JSON.stringify(roots.map((each) => [each.type, each.id])) : undefined }), [roots]);

  const drawn = useAsync(() => picture(graph, roots, opened, moment.point, fresh), [graph, roots, opened, moment.point, fresh]);
  const shown = drawn.data;
  const nodes = useMemo(
    () => [...(shown?.nodes.values() ?? [])].map((each) => ({ key: keyOf(each), label: titleOf(each.entity, schema.data, each.type), color: typeColor(schema.data, each.type, dark), root: each.root })),
    [shown, schema.data, dark],
  );
  const legend = useMemo(
    () => [...new Set([...(shown?.nodes.values() ?? [])].map((each) => each.type))].sort().map((type) => ({ label: type, color: typeColor(schema.data, type, dark) })),
    [shown, schema.data, dark],
  );
  const edges = useMemo(() => [...(shown?.edges ?? [])].map(([key, each]) => ({ key, from: each.from, to: each.to, label: edgeWord(each.type) })), [shown]);
  const current = selected === null ? undefined : shown?.nodes.get(selected);
  const groups = useAsync(
    async () => (current ? (await neighbours(graph, current, moment.point, fresh))?.groups ?? [] : []),
    [graph, selected, moment.point, fresh, current !== undefined],
  );

  const toggle = (group: Group) => {
    if (!current) return;
    const one: Opened = { type: current.type, id: current.id, edge: group.edge, direction: group.direction };
    const key = openedKey(one);
    setOpened((before) => (before.some((each) => openedKey(each) === key) ? before.filter((each) => openedKey(each) !== key) : [...before, one]));
  };
  const openAll = async (key: string | null) => {
    const node = key === null ? undefined : shown?.nodes.get(key);
    if (!node) return;
    const found = (await neighbours(graph, node, moment.point, fresh))?.groups ?? [];
    const all = found.filter((each) => each.count > 0).map((each): Opened => ({ type: node.type, id: node.id, edge: each.edge, direction: each.direction }));
    setOpened((before) => [...before, ...all.filter((each) => !before.some((other) => openedKey(other) === openedKey(each)))]);
  };
  const collapse = (key: string | null) => setOpened((before) => before.filter((each) => keyOf(each) !== key));
  const clear = () => {
    setRoots([]);
    setOpened([]);
    setSelected(null);
  };
  const add = (node: NodeRef) => {
    setRoots((before) => (before.some((each) => keyOf(each) === keyOf(node)) ? before : [...before, node]));
    setSelected(keyOf(node));
  };
  useShortcuts([
    { keys: 'e', what: 'Open all edges of the selected node', run: () => void openAll(selected) },
    { keys: 'c', what: 'Close the edges of the selected node', run: () => collapse(selected) },
    { keys: '/', what: 'Find a node', run: () => document.getElementById('find-node')?.focus() },
  ]);

  return (
    <Page
      fill
      title="Explore"
      note={shown && shown.nodes.size > 0 ? `${plural(shown.nodes.size, 'node')}, ${plural(shown.edges.size, 'edge')}` : undefined}
      actions={
        roots.length > 0 && (
          <button className="button" onClick={clear}>
            <Eraser size={15} /> Clear
          </button>
        )
      }
    >
      <div className="explore">
        <Find graph={graph} schema={schema.data} point={moment.point} onNode={add} />
        <section className="panel explore-canvas" aria-label="Drawing">
          {drawn.loading && shown && <div className="bar" />}
          {drawn.error ? (
            <Failure error={drawn.error} retry={drawn.reload} />
          ) : roots.length === 0 ? (
            <Empty title="Find a node to start from">Type a key or a word at the left. Then open its edges, one type at a time, or double-click it to open all.</Empty>
          ) : (
            <>
              <GraphCanvas nodes={nodes} edges={edges} legend={legend} label="Neighbourhood" selected={selected} onSelect={setSelected} onOpen={(key) => void openAll(key)} />
              {shown && shown.missing.length > 0 && (
                <div className="callout warn explore-missing">
                  {shown.missing.map((each) => each.id).join(', ')} {shown.missing.length === 1 ? 'is' : 'are'} not there at this commit. Move the slider, or choose another branch.
                </div>
              )}
            </>
          )}
          <TimeSlider moment={moment} />
        </section>
        <aside className="panel explore-side" aria-label="Selected node">
          {current ? (
            <>
              <Details key={selected} node={current} point={moment.point} schema={schema.data} onSaved={moment.reload} onClose={() => setSelected(null)} />
              <section className="groups">
                <h3>Edges</h3>
                {groups.error !== undefined && <Failure error={groups.error} retry={groups.reload} />}
                {groups.data?.length === 0 && <p className="muted small">This type has no edges.</p>}
                {groups.data?.map((group) => {
                  const open = opened.some((each) => openedKey(each) === `${current.type}/${current.id}/${group.edge}/${group.direction}`);
                  const name = `${group.direction === 'in' ? '← ' : ''}${edgeWord(group.edge)}${group.direction === 'out' ? ' →' : ''}`;
                  return (
                    <button key={`${group.edge}/${group.direction}`} className="group" disabled={group.count === 0} aria-pressed={open} onClick={() => toggle(group)}>
                      {open ? <Minus size={14} /> : <Plus size={14} />}
                      <span className="clip">{name}</span>
                      <span className="muted small clip">{group.type}</span>
                      <span className="badge">{open && group.count > MOST ? `${count(MOST)} of ${count(group.count)}` : count(group.count)}</span>
                    </button>
                  );
                })}
                <div className="row">
                  <button className="button small" onClick={() => void openAll(selected)}>
                    Open all
                  </button>
                  <button className="button small" onClick={() => collapse(selected)}>
                    Close all
                  </button>
                </div>
              </section>
            </>
          ) : (
            <NodeList nodes={nodes} onSelect={setSelected} />
          )}
        </aside>
      </div>
    </Page>
  );
}

/** The drawn nodes as a list: for those who do not use a pointer, or do not see the drawing. */
function NodeList({ nodes, onSelect }: { nodes: { key: string; label: string; color: string }[]; onSelect: (key: string) => void }) {
  if (nodes.length === 0) return <Empty title="Nothing selected">Details of the selected node are shown here.</Empty>;
  return (
    <>
      <h3 className="side-title">Drawn nodes</h3>
      <ul className="node-list">
        {nodes.slice(0, 500).map((each) => (
          <li key={each.key}>
            <button onClick={() => onSelect(each.key)}>
              <span className="dot" style={{ background: each.color }} /> <span className="clip">{each.label}</span>
            </button>
          </li>
        ))}
      </ul>
      {nodes.length > 500 && <p className="muted small side-title">and {count(nodes.length - 500)} more</p>}
    </>
  );
}

function parseRefs(text: string | null): NodeRef[] {
  try {
    const found: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(found) ? found.filter((each): each is [string, string] => Array.isArray(each) && each.length === 2).map(([type, id]) => ({ type: String(type), id: String(id) })) : [];
  } catch {
    return [];
  }
}
