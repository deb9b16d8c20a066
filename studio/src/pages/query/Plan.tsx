// The plan of a query with the rows and the time of each operator: it is run once more to measure them.
import { Loaded } from '../../components/basics';
import { api, ask } from '../../lib/api/client';
import { cell } from '../../lib/format';
import { type Point, target } from '../../lib/point';
import { useAsync } from '../../lib/useAsync';
import type { Outcome } from './run';

export function Plan({ graph, outcome, point }: { graph: string; outcome: Outcome; point: Point }) {
  const found = useAsync(
    (signal) => ask(api.POST('/graphs/{graph_id}/explain', { params: { path: { graph_id: graph } }, body: { query: outcome.text, params: outcome.params, ...target(point), analyze: true }, signal })),
    [graph, outcome, point],
  );
  return (
    <div className="plan">
      <Loaded from={found} what="Running it once more, measured">
        {(plan) => (
          <>
            <OperatorTable operators={plan.operators as Record<string, unknown>[]} />
            <h3>As text</h3>
            <pre>{plan.text}</pre>
          </>
        )}
      </Loaded>
    </div>
  );
}

function OperatorTable({ operators }: { operators: Record<string, unknown>[] }) {
  const columns = [...new Set(operators.flatMap((each) => Object.keys(each)))].filter((name) => operators.some((each) => typeof each[name] !== 'object' || each[name] === null)).slice(0, 8);
  if (columns.length === 0) return null;
  return (
    <table className="plain">
      <thead>
        <tr>
          {columns.map((name) => (
            <th key={name} className={operators.some((each) => typeof each[name] === 'number') ? 'num' : undefined}>
              {name.replaceAll('_', ' ')}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {operators.map((each, at) => (
          <tr key={at}>
            {columns.map((name) => (
              <td key={name} className={typeof each[name] === 'number' ? 'num' : undefined}>
                {typeof each[name] === 'number' ? (Math.round((each[name] as number) * 1000) / 1000).toLocaleString('en') : cell(each[name])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
