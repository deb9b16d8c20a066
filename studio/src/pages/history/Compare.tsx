// What differs between any two points.
import { ArrowLeftRight } from 'lucide-react';
import { ChangeList, ofDiff } from '../../components/Changes';
import { Empty, Failure, Loaded } from '../../components/basics';
import { PointMenu } from '../../components/PointPicker';
import { api, ask } from '../../lib/api/client';
import { count } from '../../lib/format';
import { useGraph, useSchema } from '../../lib/graph';
import { formatPoint, parsePoint, type Point, usePoint } from '../../lib/point';
import { setParams, usePlace } from '../../lib/router';
import { useChanges } from './useChanges';

const named = (point: Point) => (point.kind === 'branch' ? point.name : point.id);

export function Compare() {
  const { id, branches } = useGraph();
  const { params } = usePlace();
  const [shown] = usePoint();
  const opened = params.get('commit');
  const other = branches.data?.find((name) => name !== 'main');
  const from: Point = params.has('from') ? parsePoint(params.get('from')) : opened ? { kind: 'snapshot', id: opened } : { kind: 'branch', name: 'main' };
  const to: Point = params.has('to') ? parsePoint(params.get('to')) : opened || named(shown) !== 'main' || other === undefined ? shown : { kind: 'branch', name: other };
  const schema = useSchema(to);
  const pages = useChanges(
    async (token, signal) => {
      const query = { from: named(from), to: named(to), limit: 50, page_token: token };
      const page = await ask(api.GET('/graphs/{graph_id}/diff', { params: { path: { graph_id: id }, query }, signal }));
      return { changes: page.changes.map(ofDiff), next: page.next_page_token, about: { stats: page.stats, schema: page.schema_changes } };
    },
    [id, named(from), named(to)],
  );
  return (
    <>
      <header className="compare-head">
        <span className="muted small">From</span>
        <PointMenu value={from} onChange={(next) => setParams({ from: formatPoint(next) })} label="From" />
        <button className="button ghost icon" aria-label="Exchange the two points" title="Exchange the two points" onClick={() => setParams({ from: formatPoint(to), to: formatPoint(from) })}>
          <ArrowLeftRight size={15} />
        </button>
        <span className="muted small">to</span>
        <PointMenu value={to} onChange={(next) => setParams({ to: formatPoint(next) })} label="To" />
      </header>
      <Loaded from={pages.first} what="Comparing">
        {({ about }) => (
          <>
            <div className="row compare-sums">
              <span className="badge good">{count(about.stats.inserts)} added</span>
              <span className="badge accent">{count(about.stats.updates)} changed</span>
              <span className="badge bad">{count(about.stats.deletes)} removed</span>
              {about.stats.types_affected.length > 0 && <span className="muted small">in {about.stats.types_affected.join(', ')}</span>}
            </div>
            {about.schema.length > 0 && (
              <div className="callout schema-steps">
                <strong>The schema changes</strong>
                <ul>
                  {about.schema.map((each) => (
                    <li key={each.text}>{each.text}</li>
                  ))}
                </ul>
              </div>
            )}
            {pages.changes.length === 0 ? <Empty title="The same entities">Nothing differs between these two points.</Empty> : <ChangeList changes={pages.changes} schema={schema.data} label="Differences" />}
            {pages.failed !== null && <Failure error={pages.failed} />}
            {pages.more && (
              <div className="more">
                <button className="button small" disabled={pages.busy} onClick={() => void pages.more?.()}>Show more</button>
              </div>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}
