// Write a query, run it at any point of the history, and look at the answer as rows, a graph or a chart.
import { Link2, Play, Square } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Page, Tabs, toast } from '../../components/basics';
import { type Diagnostic, Editor } from '../../components/Editor';
import { ApiError } from '../../lib/api/client';
import { elapsed } from '../../lib/format';
import { useGraph, usePermissions, useSchema } from '../../lib/graph';
import { assistedCompletion, findings } from '../../lib/language/assist';
import { queryCompletion } from '../../lib/language/complete';
import { diagnosticOf, summaryOf } from '../../lib/language/diagnostics';
import { formatPoint, usePoint } from '../../lib/point';
import { href, setParams, usePlace } from '../../lib/router';
import { useShortcuts } from '../../lib/shortcuts';
import { Answer } from './Answer';
import { declaredParams, isMutation, ParamForm, type ParamValues, typedParams } from './params';
import { remember } from './past';
import { type Outcome, runMutation, runQuery } from './run';
import { Shelf } from './Shelf';
import './query.css';

const FIRST = 'match { $n: Person }\nreturn { $n }\nlimit 100';

export default function Query() {
  const { id } = useGraph();
  const [point] = usePoint();
  const { params: address } = usePlace();
  const schema = useSchema();
  const { may } = usePermissions(point.kind === 'branch' ? point.name : 'main');
  const [text, setText] = useState(() => address.get('q') ?? '');
  const [values, setValues] = useState<ParamValues>(() => parseValues(address.get('p')));
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [diagnostics, setDiagnostics] = useState<Diagnostic[]>([]);
  const [started, setStarted] = useState<number | null>(null);
  const [side, setSide] = useState<'queries' | 'history'>('queries');
  const control = useRef<AbortController | null>(null);
  const writing = useRef(false); // whether what runs is a write

  // The first query of somebody new is about a type that exists.
  useEffect(() => {
    if (text === '' && schema.data && !address.get('q')) setText(schema.data.nodes[0] ? FIRST.replace('Person', schema.data.nodes[0].name) : '');
  }, [schema.data]);

  const params = useMemo(() => declaredParams(text), [text]);
  const writes = useMemo(() => isMutation(text), [text]);

  /** Runs one thing at a time, with a clock and a way to cancel it. */
  const perform = useCallback(async (work: (signal: AbortSignal) => Promise<Outcome>, isWrite: boolean): Promise<unknown> => {
    control.current?.abort();
    const mine = new AbortController();
    control.current = mine;
    writing.current = isWrite;
    const begun = performance.now();
    setStarted(begun);
    setProblem(null);
    try {
      setOutcome({ ...(await work(mine.signal)), ms: performance.now() - begun });
      return null;
    } catch (error) {
      if (mine.signal.aborted) return null;
      setOutcome(null);
      setProblem(error);
      return error;
    } finally {
      if (control.current === mine) setStarted(null);
    }
  }, []);

  const run = useCallback(async () => {
    if (!text.trim()) return;
    const error = await perform(async (signal) => {
      const typed = typedParams(params, values);
      setParams({ q: text, p: Object.keys(values).length ? JSON.stringify(values) : undefined, run: undefined });
      const found = writes ? await runMutation(id, text, typed, point, signal) : await runQuery(id, text, typed, point, signal);
      remember(id, text, formatPoint(point));
      return found;
    }, writes);
    const found = error instanceof ApiError ? diagnosticOf(error.message, text) : null;
    if (found) setDiagnostics([found]);
  }, [text, values, params, writes, id, point, perform]);

  const cancel = () => {
    control.current?.abort();
    control.current = null;
    setStarted(null);
    toast(writing.current ? 'You stopped waiting. The history tells whether it was committed.' : 'The query was cancelled.');
  };

  useEffect(() => {
    const given = address.get('q');
    if (given !== null && given !== text) setText(given);
  }, [address.get('q')]);
  const wanted = address.get('run') === '1';
  useEffect(() => {
    if (wanted && text && text === address.get('q')) void run();
  }, [wanted, text]);

  useShortcuts([
    { keys: 'mod+enter', what: 'Run the query', run: () => void run(), inInputs: true },
    { keys: 'escape', what: 'Cancel the running query', run: cancel, inInputs: true, when: () => started !== null },
  ]);

  const copyLink = async () => {
    const to = href(id, 'query', { at: formatPoint(point), q: text, p: Object.keys(values).length ? JSON.stringify(values) : undefined, run: '1' });
    await navigator.clipboard.writeText(`${location.origin}${location.pathname}${to}`);
    toast('The link was copied. Whoever opens it needs a token of their own.');
  };

  const branch = point.kind === 'branch' ? point.name : 'main';
  const complete = useMemo(() => assistedCompletion(id, branch, 'gq', queryCompletion(schema.data)), [id, branch, schema.data]);
  // What is being typed is looked at by the compiler once the keys rest.
  useEffect(() => {
    if (!text.trim()) return;
    const stop = new AbortController();
    const timer = setTimeout(() => findings(id, branch, 'gq', text, stop.signal).then(setDiagnostics, () => undefined), 350);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, id, branch]);
  const refused = writes && !may('change');
  return (
    <Page
      fill
      title="Query"
      actions={
        <>
          {started !== null && <Clock since={started} />}
          <button className="button" onClick={() => void copyLink()}>
            <Link2 size={15} /> Copy link
          </button>
          {started === null ? (
            <button className="button primary" onClick={() => void run()} disabled={!text.trim() || refused} title="Ctrl+Enter">
              <Play size={15} /> Run
            </button>
          ) : (
            <button className="button danger" onClick={cancel}>
              <Square size={14} /> Cancel
            </button>
          )}
        </>
      }
    >
      <div className="query">
        <aside className="panel shelf">
          <Tabs label="Stored queries and history" value={side} onChange={setSide} options={[{ value: 'queries', label: 'Stored' }, { value: 'history', label: 'History' }]} />
          <Shelf side={side} graph={id} onText={setText} onRun={perform} />
        </aside>
        <section className="panel editor-panel">
          <Editor value={text} onChange={setText} language="gq" label="Query" diagnostics={diagnostics} complete={complete} onRun={() => void run()} hint="match { … } return { … }" />
          {params.length > 0 && <ParamForm params={params} values={values} onChange={setValues} />}
          {refused && <div className="callout warn">This writes, and you may not change this branch.</div>}
        </section>
        <section className="panel answer">
          {problem !== null ? <Problem error={problem} /> : <Answer outcome={outcome} running={started !== null} schema={schema.data} graph={id} point={point} />}
        </section>
      </div>
    </Page>
  );
}

function Clock({ since }: { since: number }) {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <span className="badge accent" role="timer">
      {elapsed(Math.max(0, now - since))}
    </span>
  );
}

function Problem({ error }: { error: unknown }) {
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div className="problem" role="alert">
      <div className="callout bad">
        <strong>{summaryOf(message).split('\n')[0]}</strong>
        {message.includes('\n') && <pre>{message.split('\n').slice(1).join('\n')}</pre>}
      </div>
      <p className="muted">Mend the query and press Ctrl+Enter to run it again.</p>
    </div>
  );
}

function parseValues(text: string | null): ParamValues {
  try {
    const found: unknown = JSON.parse(text ?? '{}');
    return typeof found === 'object' && found !== null ? Object.fromEntries(Object.entries(found).map(([name, value]) => [name, String(value)])) : {};
  } catch {
    return {};
  }
}

