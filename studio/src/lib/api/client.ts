// The one client of the HTTP API; its types are generated from the server's OpenAPI document at every build.
import createClient from 'openapi-fetch';
import { signOut, token } from '../session';
import type { components, paths } from './schema';

export type Schemas = components['schemas'];

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly code: string | undefined,
    readonly body: Record<string, unknown>,
  ) {
    super(message);
  }
}

export const api = createClient<paths>({ baseUrl: location.origin });

api.use({
  onRequest({ request }) {
    const value = token.get();
    if (value) request.headers.set('Authorization', `Bearer ${value}`);
    return request;
  },
  async onResponse({ request, response }) {
    noteRefusedToken(response.status);
    const small = Number(response.headers.get('Content-Length') ?? Infinity) < 4_000_000;
    if (response.status !== 200 || !small || request.headers.has('Prefer')) return response;
    return new Response(exact(await response.text()), { status: 200, headers: response.headers });
  },
});

/** JSON in which whole numbers that JavaScript would round are texts, as `Prefer: int64=string` gives them for queries. */
export function exact(text: string): string {
  if (!/\d{16}/.test(text)) return text;
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g, (found) => (found.startsWith('"') || Number.isSafeInteger(Number(found)) ? found : `"${found}"`));
}

/** For routes whose bodies are not JSON: streams, Arrow, blobs. */
export async function rawFetch(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const value = token.get();
  if (value) headers.set('Authorization', `Bearer ${value}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch (error) {
    throw unreachable(error);
  }
  noteRefusedToken(response.status);
  if (!response.ok) throw toError(response.status, await response.json().catch(() => undefined));
  return response;
}

function noteRefusedToken(status: number): void {
  if (status === 401 && token.get()) signOut('The server does not accept this token any more. Sign in again.');
}

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** The data of an answer, which is JSON; a refusal is thrown as an ApiError. */
export async function ask<T>(request: Promise<Answer<T>>): Promise<Exclude<T, string>> {
  let answer: Answer<T>;
  try {
    answer = await request;
  } catch (error) {
    throw unreachable(error);
  }
  if (!answer.response.ok) throw toError(answer.response.status, answer.error);
  return answer.data as Exclude<T, string>;
}

function unreachable(error: unknown): unknown {
  if (error instanceof DOMException && error.name === 'AbortError') return error;
  return new ApiError(0, 'The server cannot be reached.', undefined, {});
}

function toError(status: number, body: unknown): ApiError {
  const found = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const message = typeof found.error === 'string' ? found.error : `The server answered ${status}.`;
  return new ApiError(status, message, typeof found.code === 'string' ? found.code : undefined, found);
}

/** What somebody who sees this error can do about it. */
export function advice(error: unknown): string {
  if (!(error instanceof ApiError)) return 'Reload the page. If it happens again, report what you did.';
  switch (error.status) {
    case 0:
      return 'Look whether the server still runs, then try again.';
    case 400:
    case 415:
      return 'Change what is sent and try again.';
    case 401:
      return 'Sign in with a valid token.';
    case 403:
      return 'Ask the person who runs this server for the right to do this.';
    case 404:
      return 'Look whether it was renamed or deleted, or choose another branch or commit at the top.';
    case 409:
    case 412:
      return 'Somebody else changed this meanwhile: reload, look at what changed, and decide again.';
    case 410:
      return 'Cleanup removed this part of the history. Choose a newer commit.';
    case 413:
      return 'Ask for less: add a limit or a condition.';
    case 429:
    case 503:
      return 'Wait a moment and try again.';
    default:
      return 'Try again. The log of the server says more.';
  }
}
