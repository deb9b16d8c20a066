// Sign-in, choice of a graph, and the frame around the pages.
import { Component, Suspense, useEffect, useState, type ReactNode } from 'react';
import { Empty, Failure, Loading, Page, Toasts } from '../components/basics';
import { ApiError, api, ask } from '../lib/api/client';
import { GraphProvider } from '../lib/graph';
import { go, href, usePlace } from '../lib/router';
import { redeem, token } from '../lib/session';
import { useStore } from '../lib/store';
import { useAsync } from '../lib/useAsync';
import { PAGES } from '../pages/registry';
import { Shell } from './Shell';
import { SignIn } from './SignIn';

export function App() {
  return (
    <Crash>
      <Start />
      <Toasts />
    </Crash>
  );
}

/** The one-time code of the address is exchanged and removed from it before anything else happens. */
function Start() {
  const { page, params } = usePlace();
  const code = page === 'start' ? params.get('code') : null;
  const [failed, setFailed] = useState<unknown>(null);
  const [pending, setPending] = useState(code !== null);
  useEffect(() => {
    if (code === null) return;
    go('#/', { replace: true });
    redeem(code).then(() => setPending(false), (error: unknown) => { setFailed(error); setPending(false); });
  }, [code]);
  const open = useOpenServer();
  const signedIn = useStore(token) !== null;
  if (pending || open === undefined) return <Loading what="Starting" />;
  if (!signedIn && !open) return <SignIn failed={failed} />;
  return <Graphs />;
}

/** Whether this server asks for no token: its document then declares no security. Undefined until it is known. */
function useOpenServer(): boolean | undefined {
  const found = useAsync(async (signal) => {
    const response = await fetch('/openapi.json', { signal });
    const document = (await response.json()) as { components?: { securitySchemes?: unknown } };
    return document.components?.securitySchemes === undefined;
  }, []);
  return found.error ? false : found.data;
}

/** The graph of the address; without one, the only graph of the server or a choice. */
function Graphs() {
  const { graph, page } = usePlace();
  const list = useAsync(async (signal) => (await ask(api.GET('/graphs', { signal }))).graphs.map((each) => each.graph_id), []);
  useEffect(() => {
    if (graph === null && list.data?.length === 1) go(href(list.data[0]!, 'overview'), { replace: true });
  }, [graph, list.data]);
  if (graph === null) {
    if (list.error) return <NameGraph />;
    if (!list.data || list.data.length === 1) return <Loading what="Looking for graphs" />;
    return <ChooseGraph names={list.data} />;
  }
  const entry = PAGES.find((each) => each.name === page);
  return (
    <GraphProvider id={graph} key={graph}>
      <Shell graphs={list.data ?? [graph]} entry={entry}>
        <Crash key={`${graph}/${page}`}>
          {entry ? (
            <Suspense fallback={<Loading />}>
              <entry.Component />
            </Suspense>
          ) : (
            <Empty title="There is no such page" action={<a className="button" href={href(graph, 'overview')}>Go to the overview</a>} />
          )}
        </Crash>
      </Shell>
    </GraphProvider>
  );
}

function ChooseGraph({ names }: { names: string[] }) {
  return (
    <div className="signin">
      <div className="panel">
        <h1>Choose a graph</h1>
        {names.length === 0 && <p>This server serves no graph. Apply a cluster that declares one, then reload.</p>}
        <ul className="stack">
          {names.map((name) => (
            <li key={name}>
              <a className="button" href={href(name, 'overview')}>{name}</a>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

/** For those who may not list the graphs of a server: they know the name of theirs. */
function NameGraph() {
  const [name, setName] = useState('');
  return (
    <div className="signin">
      <form className="panel" onSubmit={(event) => { event.preventDefault(); if (name.trim()) go(href(name.trim(), 'overview')); }}>
        <h1>Which graph?</h1>
        <p className="muted">You may not list the graphs of this server. Enter the id of the one you work with.</p>
        <div className="field">
          <label htmlFor="graph-id">Graph id</label>
          <input id="graph-id" className="input" value={name} onChange={(event) => setName(event.target.value)} autoFocus />
        </div>
        <button className="button primary" disabled={!name.trim()}>Open</button>
      </form>
    </div>
  );
}

const NOT_FETCHED = /preload CSS|dynamically imported module|module script failed/i;

/** Shows what went wrong in a page instead of an empty screen. */
class Crash extends Component<{ children: ReactNode }, { error: unknown }> {
  state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  render() {
    if (this.state.error === null) return this.props.children;
    if (NOT_FETCHED.test(String(this.state.error))) {
      // A part that was not fetched is remembered as failed; only a new page asks for it again.
      return (
        <Page title="Not loaded">
          <Failure error={new ApiError(0, 'This part of the studio could not be fetched: the server cannot be reached, or has a newer studio.', undefined, {})} title="This page is missing" retry={() => location.reload()} />
        </Page>
      );
    }
    return (
      <Page title="Something broke">
        <Failure error={this.state.error} title="This page failed" retry={() => this.setState({ error: null })} />
      </Page>
    );
  }
}
