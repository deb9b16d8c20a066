// Finds nodes by key or by words in their text properties.
import { Search } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Empty, Failure } from '../../components/basics';
import { api, ask } from '../../lib/api/client';
import { type Entity, keyOf, type NodeRef, titleOf } from '../../lib/entities';
import { type Point, target } from '../../lib/point';
import { type GraphSchema, isWord, type NodeType, typeColor } from '../../lib/schema';
import { useStore } from '../../lib/store';
import { isDark } from '../../lib/theme';

interface Found extends NodeRef {
  entity: Entity;
}

const PER_TYPE = 12;

export function Find({ graph, schema, point, onNode }: { graph: string; schema: GraphSchema | undefined; point: Point; onNode: (node: NodeRef) => void }) {
  const dark = useStore(isDark);
  const [text, setText] = useState('');
  const [type, setType] = useState('');
  const [found, setFound] = useState<Found[] | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  const [waiting, setWaiting] = useState(false); // asked for before the schema was known
  useEffect(() => {
    if (waiting && schema) void search();
  }, [waiting, schema]);

  async function search() {
    setWaiting(!schema);
    if (!schema) return;
    setBusy(true);
    setProblem(null);
    try {
      const types = schema.nodes.filter((each) => !type || each.name === type);
      const lists = await Promise.all(types.map((each) => nodesLike(graph, each, text.trim(), point)));
      setFound(lists.flat());
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  }

  return (
    <aside className="panel explore-find" aria-label="Find a node">
      <form role="search" onSubmit={(event) => { event.preventDefault(); void search(); }}>
        <div className="field">
          <label htmlFor="find-node">Key or words</label>
          <div className="row find-row">
            <input id="find-node" className="input" value={text} onChange={(event) => setText(event.target.value)} placeholder="Ada" />
            <button className="button icon" aria-label="Find" disabled={busy}>
              <Search size={15} />
            </button>
          </div>
        </div>
        <select className="select" aria-label="Type" value={type} onChange={(event) => setType(event.target.value)}>
          <option value="">Every type</option>
          {schema?.nodes.map((each) => (
            <option key={each.name}>{each.name}</option>
          ))}
        </select>
      </form>
      {problem ? <Failure error={problem} /> : null}
      {found === null && !problem && <p className="muted small">{busy ? 'Looking…' : 'A part of a word is enough. Enter with nothing typed lists the first nodes of each type.'}</p>}
      {found?.length === 0 && <Empty title="Nothing found">Try a part of the word, another type, or another point in time.</Empty>}
      <ul className="node-list" aria-label="Found nodes">
        {found?.map((each) => (
          <li key={keyOf(each)}>
            <button onClick={() => onNode({ type: each.type, id: each.id })}>
              <span className="dot" style={{ background: typeColor(schema, each.type, dark) }} />
              <span className="clip">{titleOf(each.entity, schema, each.type)}</span>
              <span className="muted small clip">{each.id}</span>
            </button>
          </li>
        ))}
      </ul>
    </aside>
  );
}

/** Nodes of a type whose key or text contains the words, in any case; without words, the first ones. */
async function nodesLike(graph: string, type: NodeType, words: string, point: Point): Promise<Found[]> {
  const texts = type.properties.filter((each) => /^String\??$/.test(each.type) && isWord(each.name)).slice(0, 6);
  if (words && texts.length === 0) return [];
  const where = words ? texts.map((each) => `lower($n.${each.name}) contains $w`).join(' or ') : '';
  const query = `query find(${words ? '$w: String' : ''}) {\n  match { $n: ${type.name} ${where ? `\n    ${where}\n  ` : ''}}\n  return { $n }\n  limit ${PER_TYPE}\n}`;
  const params = words ? { w: words.toLowerCase() } : {};
  const answer = await ask(api.POST('/graphs/{graph_id}/query', { params: { path: { graph_id: graph } }, body: { query, params, ...target(point) } }));
  return answer.rows.map((row) => row.n as Entity).map((entity) => ({ type: type.name, id: String(entity.id), entity }));
}
