// Files become a part of the graph: drop them, look at what they suggest, change it, try it, load it.
import { useEffect, useMemo, useState } from 'react';
import { Empty, Failure, Loading, Page, Tabs } from '../../components/basics';
import { Editor } from '../../components/Editor';
import { SchemaDrawing } from '../../components/SchemaDrawing';
import { useGraph, usePermissions, useSchema } from '../../lib/graph';
import { usePoint } from '../../lib/point';
import { parseSchema } from '../../lib/schema';
import { useShortcuts } from '../../lib/shortcuts';
import { useAsync } from '../../lib/useAsync';
import { Files, type Sending } from './Files';
import { infer, type Inferred, listFiles, type LoadOutput, readable, removeFile, upload, uploadName } from './uploads';
import { dryRun, loadFiles, type Step, type Wanted } from './load';
import { Outcome } from './Outcome';
import './data.css';

type View = 'report' | 'drawing' | 'schema' | 'mapping';

export default function Data() {
  const [point] = usePoint();
  const { may, restricted, known, failed } = usePermissions(point.kind === 'branch' ? point.name : 'main');
  if (failed) return <Page title="Data"><section className="panel"><Failure error={failed} /></section></Page>;
  if (!known) return <Loading />;
  if (restricted || !may('change')) {
    return (
      <Page title="Data">
        <section className="panel">
          <Empty title="Loading is not for you here">You may not change this branch. Choose another one at the top, or ask the person who runs this server for the right.</Empty>
        </section>
      </Page>
    );
  }
  return <Whole branch={point.kind === 'branch' ? point.name : 'main'} />;
}

function Whole({ branch }: { branch: string }) {
  const { id } = useGraph();
  const kept = useAsync((signal) => listFiles(id, branch, signal), [id, branch]);
  const [sending, setSending] = useState<Sending[]>([]);
  const [failed, setFailed] = useState<unknown>(null);
  const files = kept.data ?? [];
  const names = files.map((each) => `${each.name} ${each.bytes}`).join('\n');
  const found = useAsync<Inferred | null>(async (signal) => (files.length > 0 ? infer(id, branch, files.map((each) => each.name), signal) : null), [id, branch, names]);
  const take = async (given: File[]) => {
    setFailed(null);
    for (const file of given) {
      const name = uploadName(file);
      const note = (part: number) => setSending((before) => [...before.filter((each) => each.name !== name), { name, part }]);
      note(0);
      try {
        await readable(file);
        await upload(id, branch, file, note);
      } catch (error) {
        setFailed(error);
      } finally {
        setSending((before) => before.filter((each) => each.name !== name));
      }
    }
    kept.reload();
  };
  const remove = (name: string) => removeFile(id, branch, name).then(kept.reload, setFailed);
  return (
    <Page title="Data" note="Files become types, nodes and edges. Nothing is written before you load.">
      {kept.error ? (
        <section className="panel"><Failure error={kept.error} retry={kept.reload} /></section>
      ) : (
        <Files kept={files} sending={sending} onFiles={(given) => void take(given)} onRemove={(name) => void remove(name)} />
      )}
      {failed !== null && <section className="panel"><Failure error={failed} title="A file was not taken" /></section>}
      {kept.data?.length === 0 && sending.length === 0 && (
        <section className="panel">
          <Empty title="No files yet">
            Drop tables here: one file for each kind of thing, and files that say how they belong together. What they suggest appears as a schema and a mapping, which you can change; a dry run
            names every row that would be refused; then they are loaded, onto a new branch to review or onto {branch}.
          </Empty>
        </section>
      )}
      {files.length > 0 && (found.error ? (
        <section className="panel"><Failure error={found.error} retry={found.reload} title="The files suggest nothing yet" /></section>
      ) : found.loading || !found.data ? (
        <section className="panel"><Loading what="Looking at the files" /></section>
      ) : (
        <Proposal key={names} found={found.data} branch={branch} />
      ))}
    </Page>
  );
}

function Proposal({ found, branch }: { found: Inferred; branch: string }) {
  const { id, branches } = useGraph();
  const schema = useSchema({ kind: 'branch', name: branch });
  const { may, declared } = usePermissions(branch);
  const known = useMemo(() => new Set(schema.data ? [...schema.data.nodes, ...schema.data.edges].map((each) => each.name) : []), [schema.data]);
  const fresh = found.declarations.filter((each) => !known.has(each.name));
  const taken = found.declarations.filter((each) => known.has(each.name));
  const proposed = fresh.map((each) => each.text).join('\n\n');
  const [view, setView] = useState<View>('report');
  const [additions, setAdditions] = useState('');
  const [mapping, setMapping] = useState(found.mapping_text);
  const [isNew, setNew] = useState(may('branch_create'));
  const [name, setName] = useState('');
  const [mode, setMode] = useState<Wanted['mode']>('merge');
  const [skip, setSkip] = useState(false);
  const [message, setMessage] = useState('');
  const [step, setStep] = useState<Step | null>(null);
  const [done, setDone] = useState<LoadOutput | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  useEffect(() => setAdditions(proposed), [proposed]);
  useEffect(() => setNew(may('branch_create')), [may('branch_create')]);
  const drawn = useMemo(() => parseSchema(`${schema.data?.source ?? ''}\n\n${additions}`), [schema.data, additions]);
  const schemaRight = !additions.trim() || (may('schema_apply') && !declared);
  const target = isNew ? name.trim() : branch;
  const ready = step === null && target !== '' && schemaRight;
  const wanted: Wanted = { graph: id, branch: target, from: isNew ? branch : null, additions, mapping, mode, skip, message };
  const run = (work: () => Promise<LoadOutput>) => {
    setFailed(null);
    setDone(null);
    setStep({ what: 'Starting', part: null });
    const fail = (error: unknown) => {
      setFailed(error);
      schema.reload(); // of what was wanted, the types may be there already
      branches.reload();
    };
    work().then(setDone, fail).finally(() => setStep(null));
  };
  const load = () => {
    if (!ready) return;
    run(async () => {
      const result = await loadFiles(wanted, setStep);
      setAdditions(''); // these types are there now
      branches.reload();
      return result;
    });
  };
  useShortcuts([{ keys: 'mod+enter', what: 'Load the files', run: load, inInputs: true }]);
  return (
    <div className="data-page">
      <section className="panel data-proposal" aria-label="What the files suggest">
        <header>
          <Tabs
            label="What the files suggest"
            value={view}
            onChange={setView}
            options={[
              { value: 'report', label: 'Report' },
              { value: 'drawing', label: 'Drawing' },
              { value: 'schema', label: fresh.length > 0 ? `New types (${fresh.length})` : 'New types' },
              { value: 'mapping', label: 'Mapping' },
            ]}
          />
        </header>
        <div className={view === 'schema' || view === 'mapping' ? 'data-editor' : 'data-view'}>
          {view === 'report' && (
            <div className="stack">
              <ul className="data-report">
                {found.report.map((line, at) => (
                  <li key={at}>{line}</li>
                ))}
              </ul>
              {taken.length > 0 && <div className="callout">{taken.map((each) => each.name).join(', ')}: declared in the schema already. The files are read as that; where they do not fit, a dry run says so.</div>}
              {found.notes.map((note, at) => (
                <div key={at} className="callout warn">{note}</div>
              ))}
              <details>
                <summary>What was found in each column</summary>
                <pre className="small">{found.evidence.join('\n')}</pre>
              </details>
            </div>
          )}
          {view === 'drawing' && <SchemaDrawing schema={drawn} />}
          {view === 'schema' && <Editor value={additions} onChange={setAdditions} language="pg" label="Declarations to add to the schema" hint="Nothing is added: every type is there already." />}
          {view === 'mapping' && <Editor value={mapping} onChange={setMapping} language="text" label="Mapping from files to types" />}
        </div>
      </section>
      <section className="panel data-load" aria-label="Load">
        <form className="stack" onSubmit={(event) => { event.preventDefault(); load(); }}>
          <div className="field">
            <label htmlFor="data-where">Onto</label>
            <select id="data-where" className="select" value={isNew ? 'new' : 'here'} onChange={(event) => setNew(event.target.value === 'new')}>
              {may('branch_create') && <option value="new">a new branch, to review and merge</option>}
              <option value="here">{branch}</option>
            </select>
          </div>
          {isNew && (
            <div className="field">
              <label htmlFor="data-branch">Name of the new branch</label>
              <input id="data-branch" className="input" value={name} placeholder={`from ${branch}`} onChange={(event) => setName(event.target.value)} />
            </div>
          )}
          <div className="field">
            <label htmlFor="data-mode">Rows that are there already</label>
            <select id="data-mode" className="select" value={mode} onChange={(event) => setMode(event.target.value as Wanted['mode'])}>
              <option value="merge">are replaced</option>
              <option value="patch">keep what a file leaves out</option>
              <option value="append">are refused</option>
              <option value="overwrite">go, with all others of their types</option>
            </select>
          </div>
          <label className="row small">
            <input type="checkbox" checked={skip} onChange={(event) => setSkip(event.target.checked)} /> load the others if rows are refused
          </label>
          <input className="input" aria-label="Message" placeholder="Message" value={message} onChange={(event) => setMessage(event.target.value)} />
          {!schemaRight && <div className="callout warn">The files need types that the schema does not have, and you may not change it. Remove them from “New types” and from the mapping, or ask for the right.</div>}
          <div className="actions">
            <button type="button" className="button" disabled={step !== null || !schemaRight} onClick={() => run(async () => ({ ...(await dryRun({ ...wanted, branch: target || branch, from: isNew ? branch : null }, setStep)), branch: target || 'the new branch' }))}>Dry run</button>
            <button className="button primary" disabled={!ready}>Load</button>
          </div>
          {isNew && name.trim() === '' && <p className="small muted">Name the new branch to load. A dry run needs no name.</p>}
        </form>
        {step !== null && (
          <div className="data-step" role="status">
            <div>{step.what}…</div>
            <progress aria-label={step.what} {...(step.part === null ? {} : { value: step.part, max: 1 })} />
          </div>
        )}
        {failed !== null && <Failure error={failed} />}
        {done !== null && <Outcome done={done} />}
      </section>
    </div>
  );
}
