// What a load did or would do: rows by type, refused rows with their reasons, and where to look next.
import { plural } from '../../lib/format';
import { useGraph } from '../../lib/graph';
import { href } from '../../lib/router';
import { commitLink } from '../links';
import type { LoadOutput } from './uploads';

export function Outcome({ done }: { done: LoadOutput }) {
  const { id } = useGraph();
  const refused = Object.values(done.rejected).reduce((sum, each) => sum + each, 0);
  const left = Object.entries(done.skipped);
  const rows = [...done.nodes, ...done.edges];
  return (
    <div className="stack" role="status">
      <div className={`callout ${refused > 0 ? 'warn' : 'good'}`}>
        {done.dry_run ? 'Dry run: ' : 'Loaded: '}
        {plural(done.total_entities, 'row')} {done.dry_run ? `would be loaded onto ${done.branch}.` : `onto ${done.branch}.`}
        {refused > 0 && ` ${plural(refused, 'row')} ${done.dry_run ? 'would be refused' : refused === 1 ? 'was left out' : 'were left out'}.`}
        {!done.dry_run && done.commit && (
          <div className="row small">
            <a href={commitLink(id, done.commit.graph_commit_id)}>See the commit</a>
            <a href={href(id, 'overview', { at: `branch:${done.branch}` })}>Overview of {done.branch}</a>
            {done.branch !== 'main' && <a href={href(id, 'merge', { source: done.branch })}>Review and merge it</a>}
          </div>
        )}
      </div>
      {rows.length > 0 && (
        <table className="plain" aria-label="Rows by type">
          <tbody>
            {rows.map((each) => (
              <tr key={each.name}>
                <td>{each.name}</td>
                <td className="num">{each.entities_loaded.toLocaleString('en')}</td>
              </tr>
            ))}
            {left.map(([name, count]) => (
              <tr key={name} className="muted">
                <td>{name}: ends that are not there</td>
                <td className="num">{count.toLocaleString('en')} left out</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {done.rejects.length > 0 && (
        <div className="data-rejects">
          <h3>Refused rows{refused > done.rejects.length && ` (the first ${done.rejects.length})`}</h3>
          <table className="plain" aria-label="Refused rows">
            <thead>
              <tr>
                <th>Where</th>
                <th>Why</th>
              </tr>
            </thead>
            <tbody>
              {done.rejects.map((each, at) => (
                <tr key={at}>
                  <td className="mono small">
                    {each.file ?? ''}
                    {each.line !== null && <div>line {each.line}</div>}
                  </td>
                  <td>
                    {each.reasons.map((reason, place) => (
                      <div key={place}>{reason.message}</div>
                    ))}
                    {each.content && <code className="small muted">{each.content}</code>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
