// The answer of a query: rows, and where it fits a graph, a chart or a plan; downloads.
import { ClipboardCopy, Download } from 'lucide-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import { Empty, Loading, Menu, Tabs, toast } from '../../components/basics';
import { DataTable, numericColumns } from '../../components/DataTable';
import { keyOf } from '../../lib/entities';
import { elapsed, plural, shortId } from '../../lib/format';
import { formatPoint, type Point } from '../../lib/point';
import { go, href } from '../../lib/router';
import type { GraphSchema } from '../../lib/schema';
import { useStore } from '../../lib/store';
import { isDark } from '../../lib/theme';
import { commitLink } from '../links';
import { asCsv, copyable, downloadArrow, downloadParquet, save } from './downloads';
import { Plan } from './Plan';
import type { Outcome } from './run';
import { asGraph, flattened } from './shapes';

const GraphCanvas = lazy(() => import('../../components/graph/GraphCanvas').then((found) => ({ default: found.GraphCanvas })));
const Chart = lazy(() => import('../../components/Chart').then((found) => ({ default: found.Chart })));

type Form = 'table' | 'graph' | 'chart' | 'plan';

interface Props {
  outcome: Outcome | null;
  running: boolean;
  schema: GraphSchema | undefined;
  graph: string;
  point: Point;
}

export function Answer({ outcome, running, schema, graph, point }: Props) {
  const [wanted, setForm] = useState<Form>('table');
  const dark = useStore(isDark);
  const flat = useMemo(() => (outcome ? flattened(outcome) : { columns: [], rows: [] }), [outcome]);
  const drawn = useMemo(() => (outcome ? asGraph(outcome, schema, dark) : null), [outcome, schema, dark]);
  const numbers = useMemo(() => numericColumns(flat.columns, flat.rows).length > 0, [flat]);
  if (!outcome) return running ? <Loading what="Running" /> : <Empty title="Run a query to see its answer">Press Ctrl+Enter in the editor. Rows can be sorted, copied and downloaded.</Empty>;
  if (outcome.written) {
    const what = `${plural(outcome.written.nodes, 'node')} and ${plural(outcome.written.edges, 'edge')} changed, in ${elapsed(outcome.ms)}.`;
    return (
      <Empty title="Committed" action={outcome.commit && <a className="button" href={commitLink(graph, outcome.commit)}>See commit {shortId(outcome.commit)}</a>}>
        {what}
      </Empty>
    );
  }
  const fits: Record<Form, boolean> = { table: true, graph: drawn !== null, chart: numbers, plan: outcome.text !== '' };
  const form = fits[wanted] ? wanted : 'table';
  return (
    <>
      <header className="answer-head">
        <Tabs
          label="Form of the answer"
          value={form}
          onChange={setForm}
          options={[
            { value: 'table', label: 'Table' },
            { value: 'graph', label: 'Graph', disabled: !fits.graph },
            { value: 'chart', label: 'Chart', disabled: !fits.chart },
            { value: 'plan', label: 'Plan', disabled: !fits.plan },
          ]}
        />
        <span className="muted small" role="status">
          {plural(outcome.rows.length, 'row')} in {elapsed(outcome.ms)}
          {outcome.commit && (
            <>
              {' '}at <code>{shortId(outcome.commit)}</code>
            </>
          )}
        </span>
        <span className="spacer" />
        <button className="button small" onClick={() => void navigator.clipboard.writeText(copyable(flat)).then(() => toast('The rows were copied, separated by tabs.'))}>
          <ClipboardCopy size={14} /> Copy
        </button>
        <Menu label="Download" right button={<><Download size={14} /> Download</>}>
          {(close) => {
            const offer = (label: string, run: () => void | Promise<void>) => (
              <button onClick={() => { close(); Promise.resolve(run()).catch((error: Error) => toast(error.message)); }}>{label}</button>
            );
            return (
              <>
                {offer('CSV', () => save('answer.csv', 'text/csv', asCsv(flat)))}
                {offer('JSON', () => save('answer.json', 'application/json', JSON.stringify(outcome.rows)))}
                {offer('Parquet', () => downloadParquet(flat))}
                {outcome.text && offer('Arrow', () => downloadArrow(graph, outcome, point))}
              </>
            );
          }}
        </Menu>
      </header>
      <div className="answer-body">
        <Suspense fallback={<Loading />}>
          {form === 'plan' ? (
            <Plan graph={graph} outcome={outcome} point={point} />
          ) : flat.rows.length === 0 ? (
            <Empty title="No rows">Nothing matches at this point of the history. Loosen a condition, or choose another branch or commit.</Empty>
          ) : form === 'graph' && drawn ? (
            <GraphCanvas nodes={drawn.nodes} edges={drawn.edges} legend={drawn.legend} label="Answer" onOpen={(key) => explore(graph, point, key)} />
          ) : form === 'chart' ? (
            <Chart columns={flat.columns} rows={flat.rows} />
          ) : (
            <DataTable columns={flat.columns} rows={flat.rows} label="Answer" />
          )}
        </Suspense>
      </div>
    </>
  );
}

function explore(graph: string, point: Point, key: string): void {
  const at = key.indexOf('/');
  const node = { type: key.slice(0, at), id: key.slice(at + 1) };
  if (keyOf(node) === key) go(href(graph, 'explore', { at: formatPoint(point), nodes: JSON.stringify([[node.type, node.id]]) }));
}
