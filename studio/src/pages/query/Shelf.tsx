// Beside the editor: the stored queries of the graph, and what was run lately.
import { Play } from 'lucide-react';
import { useState } from 'react';
import { Empty, Loaded } from '../../components/basics';
import { api, ask, type Schemas } from '../../lib/api/client';
import { ago } from '../../lib/format';
import { usePoint } from '../../lib/point';
import { useAsync } from '../../lib/useAsync';
import { type Param, ParamForm, type ParamValues, typedParams } from './params';
import { past } from './past';
import { type Outcome, runStored } from './run';

interface Props {
  side: 'queries' | 'history';
  graph: string;
  onText: (text: string) => void;
  onRun: Run;
}

type Run = (work: (signal: AbortSignal) => Promise<Outcome>, isWrite: boolean) => Promise<unknown>;

export function Shelf({ side, graph, onText, onRun }: Props) {
  return side === 'history' ? <Past graph={graph} onText={onText} /> : <Stored graph={graph} onRun={onRun} />;
}

function Past({ graph, onText }: { graph: string; onText: (text: string) => void }) {
  const list = past(graph);
  if (list.length === 0) return <Empty title="Nothing yet">Queries that you run in this tab are listed here.</Empty>;
  return (
    <ul className="past">
      {list.map((each) => (
        <li key={each.when}>
          <button onClick={() => onText(each.text)} title={each.text}>
            <code>{each.text}</code>
            <span className="muted small">{ago(each.when * 1000)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Stored({ graph, onRun }: { graph: string; onRun: Run }) {
  const list = useAsync(async (signal) => (await ask(api.GET('/graphs/{graph_id}/queries', { params: { path: { graph_id: graph } }, signal }))).queries, [graph]);
  const [open, setOpen] = useState<string | null>(null);
  return (
    <Loaded from={list}>
      {(queries) =>
        queries.length === 0 ? (
          <Empty title="No stored queries">
            Start with <code>--queries FILE</code>, or declare them in the cluster.
          </Empty>
        ) : (
          <ul className="stored">
            {queries.map((each) => (
              <li key={each.name}>
                <button className="stored-name" aria-expanded={open === each.name} onClick={() => setOpen(open === each.name ? null : each.name)}>
                  <span className="clip">{each.name}</span>
                  {each.mutation && <span className="badge warn">writes</span>}
                </button>
                {open === each.name && <Invoke query={each} graph={graph} onRun={onRun} />}
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}

const TYPES: Partial<Record<Schemas['ParamKind'], string>> = { string: 'String', bool: 'Bool', int: 'I32', bigint: 'I64', float: 'F64', date: 'Date', datetime: 'DateTime', vector: 'Vector', list: '[…]' };

function Invoke({ query, graph, onRun }: { query: Schemas['QueryCatalogEntry']; graph: string; onRun: Run }) {
  const [point] = usePoint();
  const [values, setValues] = useState<ParamValues>({});
  const params: Param[] = query.params.map((each) => ({ name: each.name, type: TYPES[each.kind] ?? 'String', optional: each.nullable || each.has_default }));
  const run = () => onRun(async (signal) => runStored(graph, query.name, typedParams(params, values), point, signal), query.mutation);
  return (
    <div className="invoke">
      {query.description && <p className="muted small">{query.description}</p>}
      {params.length > 0 && <ParamForm params={params} values={values} onChange={setValues} />}
      <button className="button small" onClick={() => void run()}>
        <Play size={13} /> Run
      </button>
    </div>
  );
}
