// The answer of a query: rows, and where it fits a graph or a chart; downloads.
import { ClipboardCopy, Download } from 'lucide-react';
import { useMemo, useState } from 'react';
import { DataTable } from '../../components/DataTable';
import { Empty, Loading, Menu, Tabs, toast } from '../../components/basics';
import { elapsed, plural, shortId } from '../../lib/format';
import type { Point } from '../../lib/point';
import type { GraphSchema } from '../../lib/schema';
import { asCsv, copyable, downloadArrow, save } from './downloads';
import type { Outcome } from './run';

type Form = 'table';

interface Props {
  outcome: Outcome | null;
  running: boolean;
  schema: GraphSchema | undefined;
  graph: string;
  point: Point;
}

export function Answer({ outcome, running, graph, point }: Props) {
  const [form, setForm] = useState<Form>('table');
  const flat = useMemo(() => outcome, [outcome]);
  if (!flat) return running ? <Loading what="Running" /> : <Empty title="Run a query to see its answer">Press Ctrl+Enter in the editor. Rows can be sorted, copied and downloaded.</Empty>;
  if (flat.written) return <Empty title="Committed">{`${plural(flat.written.nodes, 'node')} and ${plural(flat.written.edges, 'edge')} changed${flat.commit ? `, in commit ${shortId(flat.commit)}` : ''}, in ${elapsed(flat.ms)}.`}</Empty>;
  return (
    <>
      <header className="answer-head">
        <Tabs label="Form of the answer" value={form} onChange={setForm} options={[{ value: 'table', label: 'Table' }]} />
        <span className="muted small" role="status">
          {plural(flat.rows.length, 'row')} in {elapsed(flat.ms)}
          {flat.commit && (
            <>
              {' '}at <code>{shortId(flat.commit)}</code>
            </>
          )}
        </span>
        <span className="spacer" />
        <button className="button small" onClick={() => void navigator.clipboard.writeText(copyable(flat)).then(() => toast('The rows were copied, separated by tabs.'))}>
          <ClipboardCopy size={14} /> Copy
        </button>
        <Menu label="Download" right button={<><Download size={14} /> Download</>}>
          {(close) => (
            <>
              <button onClick={() => { close(); save('answer.csv', 'text/csv', asCsv(flat)); }}>CSV</button>
              <button onClick={() => { close(); save('answer.json', 'application/json', JSON.stringify(flat.rows)); }}>JSON</button>
              {flat.text && <button onClick={() => { close(); void downloadArrow(graph, flat.text, point).catch((error: Error) => toast(error.message)); }}>Arrow</button>}
            </>
          )}
        </Menu>
      </header>
      <div className="answer-body">
        {flat.rows.length === 0 ? <Empty title="No rows">Nothing matches at this point of the history. Loosen a condition, or choose another branch or commit.</Empty> : <DataTable columns={flat.columns} rows={flat.rows} label="Answer" />}
      </div>
    </>
  );
}
