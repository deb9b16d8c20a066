// The schema of a branch as text: findings while you type, the plan of a change, and the change.
import { AlignLeft, Check, RotateCcw, TriangleAlert } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import { Empty, Failure, Loaded, Loading, Page, Tabs, toast } from '../../components/basics';
import { type Diagnostic, Editor } from '../../components/Editor';
import { SchemaDrawing } from '../../components/SchemaDrawing';
import { api, ask, type Schemas } from '../../lib/api/client';
import { plural } from '../../lib/format';
import { useGraph, usePermissions, useSchema } from '../../lib/graph';
import { assistedCompletion, findings } from '../../lib/language/assist';
import { pointLabel, usePoint } from '../../lib/point';
import { parseSchema } from '../../lib/schema';
import { useShortcuts } from '../../lib/shortcuts';
import { type Async, useAsync } from '../../lib/useAsync';
import './schema.css';

type Plan = Schemas['SchemaPlanOutput'];

export default function SchemaPage() {
  const [point] = usePoint();
  const { restricted, known, failed } = usePermissions(point.kind === 'branch' ? point.name : 'main');
  if (failed) return <Page title="Schema"><section className="panel"><Failure error={failed} /></section></Page>;
  if (!known) return <Loading />;
  if (!restricted) return <Whole />;
  return (
    <Page title="Schema">
      <section className="panel">
        <Empty title="The schema text is not shown">You see a part of this graph. Its schema is shown to those who may read all of it; the overview has the types that you may see.</Empty>
      </section>
    </Page>
  );
}

function Whole() {
  const [point] = usePoint();
  const schema = useSchema();
  const [applied, setApplied] = useState(0);
  return (
    <Loaded from={schema} what="Reading the schema">
      {(data) => <Edit key={`${pointLabel(point)}/${applied}/${data.source}`} source={data.source} onApplied={() => { setApplied(applied + 1); schema.reload(); }} />}
    </Loaded>
  );
}

function Edit({ source, onApplied }: { source: string; onApplied: () => void }) {
  const { id } = useGraph();
  const [point] = usePoint();
  const branch = point.kind === 'branch' ? point.name : 'main';
  const { may, declared } = usePermissions(branch);
  const frozen = point.kind !== 'branch'; // the past does not change
  const [text, setText] = useState(source);
  const [settled, setSettled] = useState(source); // the text as it was when typing paused
  const [diagnostics, setDiagnostics] = useState<Diagnostic[]>([]);
  const [loss, setLoss] = useState(false);
  const [message, setMessage] = useState('');
  const [view, setView] = useState<'plan' | 'drawing'>('plan');
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<unknown>(null);
  const edited = text !== source;
  const broken = diagnostics.some((each) => each.severity === 'error');
  const complete = useMemo(() => assistedCompletion(id, branch, 'pg'), [id, branch]);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      findings(id, branch, 'pg', text, stop.signal).then((found) => { setDiagnostics(found); setSettled(text); }, () => setSettled(text));
    }, 400);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [id, branch, text]);
  const wanted = edited && settled === text && !broken && !frozen;
  const plan = useAsync(
    async (signal) => (wanted ? ask(api.POST('/graphs/{graph_id}/schema/plan', { params: { path: { graph_id: id } }, body: { schema_source: text, allow_data_loss: loss, branch }, signal })) : null),
    [id, branch, wanted, wanted ? text : '', loss],
  );
  const mayApply = may('schema_apply') && !declared && !frozen;
  const ready = mayApply && wanted && !plan.loading && !!plan.data?.supported && plan.data.step_count > 0 && !busy;
  const apply = () => {
    if (!ready) return;
    setBusy(true);
    setFailed(null);
    ask(api.POST('/graphs/{graph_id}/schema/apply', { params: { path: { graph_id: id } }, body: { schema_source: text, allow_data_loss: loss, branch, message: message.trim() || undefined } }))
      .then(() => { toast(`The schema of ${branch} is changed.`); onApplied(); }, setFailed)
      .finally(() => setBusy(false));
  };
  const format = () => {
    ask(api.POST('/graphs/{graph_id}/assist', { params: { path: { graph_id: id } }, body: { text, language: 'pg', want: ['format'], branch } })).then((found) => found.formatted && setText(found.formatted), setFailed);
  };
  useShortcuts([{ keys: 'mod+enter', what: 'Apply the schema', run: apply, inInputs: true }]);
  const drawn = useMemo(() => parseSchema(settled), [settled]);
  return (
    <Page
      fill
      title="Schema"
      note={frozen ? 'A commit of the past: choose a branch to edit its schema.' : declared ? 'Declared by the cluster: edit it there. Plans can be looked at here.' : undefined}
      actions={
        <>
          {edited && (
            <button className="button" onClick={() => setText(source)}>
              <RotateCcw size={15} /> Undo all
            </button>
          )}
          {!frozen && (
            <button className="button" disabled={broken} onClick={format}>
              <AlignLeft size={15} /> Format
            </button>
          )}
        </>
      }
    >
      <div className="schema-page">
        <section className="panel schema-editor" aria-label="Source">
          <Editor value={text} onChange={setText} language="pg" label="Schema" diagnostics={diagnostics} complete={complete} readOnly={frozen} onRun={apply} hint="node Person { name: String @key }" />
          <div className="schema-foot small" role="status">
            {broken ? (
              <span className="bad-text row"><TriangleAlert size={14} /> {diagnostics.find((each) => each.severity === 'error')?.message.split('\n')[0]}</span>
            ) : diagnostics.length > 0 ? (
              <span className="row warn-text"><TriangleAlert size={14} /> {plural(diagnostics.length, 'finding')}: {diagnostics[0]?.message.split('\n')[0]}</span>
            ) : (
              <span className="row muted"><Check size={14} /> {plural(drawn.nodes.length, 'node type')}, {plural(drawn.edges.length, 'edge type')}</span>
            )}
          </div>
        </section>
        <section className="panel schema-side" aria-label="What the text means">
          <header>
            <Tabs label="What is shown beside the text" value={view} onChange={setView} options={[{ value: 'plan', label: 'Plan' }, { value: 'drawing', label: 'Drawing' }]} />
          </header>
          <div className="schema-side-body">
            {view === 'drawing' ? (
              drawn.nodes.length === 0 ? <Empty title="Nothing to draw">Declare a node type first.</Empty> : <SchemaDrawing schema={drawn} />
            ) : !edited ? (
              <Empty title="Nothing to change">{frozen ? 'This is the schema as it was.' : 'Edit the text: what it would take to get there appears here, before anything happens.'}</Empty>
            ) : broken ? (
              <Empty title="Not a schema yet">Mend what is marked in the text, and the plan appears.</Empty>
            ) : (
              <PlanSteps plan={plan} loss={loss} />
            )}
            {failed !== null && <Failure error={failed} />}
          </div>
          {edited && !frozen && (
            <form className="schema-do" onSubmit={(event) => { event.preventDefault(); apply(); }}>
              <label className="row small">
                <input type="checkbox" checked={loss} onChange={(event) => setLoss(event.target.checked)} /> values may be lost for good
              </label>
              {mayApply && (
                <div className="row">
                  <input className="input" aria-label="Message" placeholder="Message" value={message} onChange={(event) => setMessage(event.target.value)} />
                  <button className="button primary" disabled={!ready}>Apply to {branch}</button>
                </div>
              )}
            </form>
          )}
        </section>
      </div>
    </Page>
  );
}

function PlanSteps({ plan, loss }: { plan: Async<Plan | null>; loss: boolean }) {
  return (
    <Loaded from={plan} what="Planning">
      {(data) => {
        if (data === null) return <Empty title="Planning…" />;
        const lines = data.text.split('\n').slice(1).map((each) => each.replace(/^- /, ''));
        if (data.supported && data.step_count === 0) return <Empty title="Nothing to do">The text differs, its meaning does not.</Empty>;
        return (
          <div className="stack">
            {data.supported ? (
              <div className="callout good">{plural(data.step_count, 'step')}. Nothing is written before you apply them.</div>
            ) : (
              <div className="callout bad">This change is not possible. {loss ? 'Change the text.' : 'Change the text, or allow that values are lost.'}</div>
            )}
            <ol className="plan-steps">
              {lines.map((line, at) => (
                <li key={at} className={data.steps[at]?.kind && /^(drop|unsupported)/.test(String(data.steps[at].kind)) ? 'risky' : undefined}>{line}</li>
              ))}
            </ol>
            {data.diagnostics.map((each, at) => (
              <div key={at} className={`callout ${each.severity === 'error' ? 'bad' : 'warn'}`}>
                {each.code} {each.message}
                {each.help && <div className="small">{each.help}</div>}
              </div>
            ))}
          </div>
        );
      }}
    </Loaded>
  );
}
