// The sign-in page: a token is pasted, tried, and kept in this tab.
import { KeyRound } from 'lucide-react';
import { useState, type FormEvent } from 'react';
import { ApiError, rawFetch } from '../lib/api/client';
import { signIn, signedOut } from '../lib/session';
import { useStore } from '../lib/store';
import { Mark } from './Mark';

export function SignIn({ failed }: { failed: unknown }) {
  const [value, setValue] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const reason = useStore(signedOut);
  const shown = problem ?? reason ?? (failed instanceof Error ? failed.message : null);

  async function submit(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await rawFetch('/graphs', { headers: { Authorization: `Bearer ${value.trim()}` } });
      signIn(value.trim());
    } catch (error) {
      // Who may not list the graphs of the server is signed in all the same.
      if (error instanceof ApiError && error.status === 403) signIn(value.trim());
      else {
        setBusy(false);
        setProblem(error instanceof ApiError && error.status === 401 ? 'The server does not know this token. Paste it again, whole and without quotes.' : String((error as Error).message));
      }
    }
  }

  return (
    <main className="signin">
      <form className="panel" onSubmit={(event) => void submit(event)}>
        <div className="row">
          <Mark size={26} />
          <h1>OmniGraph studio</h1>
        </div>
        <p className="muted">Sign in with your bearer token. It stays in this tab and is forgotten when you close it.</p>
        {shown && (
          <div className="callout bad" role="alert">
            {shown}
          </div>
        )}
        <div className="field">
          <label htmlFor="token">Token</label>
          <input id="token" className="input mono" type="password" autoComplete="off" autoFocus value={value} onChange={(event) => setValue(event.target.value)} />
        </div>
        <button className="button primary" disabled={!value.trim() || busy}>
          <KeyRound size={15} /> Sign in
        </button>
        <p className="muted small">
          For a graph on this machine, <code>omnigraph studio GRAPH</code> signs you in by itself.
        </p>
      </form>
    </main>
  );
}
