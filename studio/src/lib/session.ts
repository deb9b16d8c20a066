// Who is signed in: a bearer token that lives in this tab only.
import { Store } from './store';

const KEY = 'omnigraph.token';

function kept(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export const token = new Store<string | null>(kept());
// Why the last session ended, for the sign-in page.
export const signedOut = new Store<string | null>(null);

export function signIn(value: string): void {
  try {
    sessionStorage.setItem(KEY, value);
  } catch {
    // The token then lasts until the page is reloaded.
  }
  signedOut.set(null);
  token.set(value);
}

export function signOut(reason: string | null = null): void {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // Nothing was kept.
  }
  signedOut.set(reason);
  token.set(null);
}

/** Exchange the one-time code of `omnigraph studio` for a token; throws with the server's sentence. */
export async function redeem(code: string): Promise<void> {
  const response = await fetch('/studio/session', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  const body = (await response.json()) as { token?: string; error?: string };
  if (!response.ok || !body.token) throw new Error(body.error ?? `the server answered ${response.status}`);
  signIn(body.token);
}
