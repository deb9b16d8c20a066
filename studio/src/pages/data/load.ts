// Loading uploaded files: the schema first, then the rows, with what the server reports while it works.
import { ApiError, api, ask, rawFetch } from '../../lib/api/client';
import type { LoadOutput } from './uploads';

export interface Wanted {
  graph: string;
  branch: string;
  from: string | null; // a new branch is made from this one
  additions: string; // declarations that the schema gets first
  mapping: string;
  mode: 'merge' | 'append' | 'patch' | 'overwrite';
  skip: boolean;
  message: string;
}

export interface Step {
  what: string;
  part: number | null; // how much of it is done, if that is known
}

const STAGES: Record<string, string> = {
  unpack: 'Unpacking',
  stage: 'Reading the rows',
  check: 'Checking them',
  locate: 'Looking for refused rows',
  rejects: 'Collecting refused rows',
  match: 'Comparing with stored rows',
};

/** Checks everything and writes nothing; where the schema would change, on a branch of its own that is removed again. */
export async function dryRun(wanted: Wanted, told: (step: Step) => void): Promise<LoadOutput> {
  const base = wanted.from ?? wanted.branch;
  if (!wanted.additions.trim()) return wanted.from === null ? load(wanted, true, told) : load({ ...wanted, branch: base, from: null }, true, told);
  const trial = `studio/dry-run-${Date.now().toString(36)}`;
  told({ what: 'Making a branch for the dry run', part: null });
  await createBranch(wanted.graph, trial, base);
  try {
    await applySchema({ ...wanted, branch: trial }, told);
    return { ...(await load({ ...wanted, branch: trial, from: null }, true, told)), branch: wanted.branch };
  } finally {
    await deleteBranch(wanted.graph, trial);
  }
}

/** Makes the branch if it is new, changes its schema if that is wanted, and loads. */
export async function loadFiles(wanted: Wanted, told: (step: Step) => void): Promise<LoadOutput> {
  if (!wanted.additions.trim()) return load(wanted, false, told);
  const made = wanted.from !== null;
  if (wanted.from !== null) {
    told({ what: `Making ${wanted.branch}`, part: null });
    await createBranch(wanted.graph, wanted.branch, wanted.from);
  }
  try {
    await applySchema(wanted, told);
    return await load({ ...wanted, from: null }, false, told);
  } catch (error) {
    // Refused, so nothing was loaded: a branch that was made for it would be in the way of the next attempt.
    if (made && error instanceof ApiError && error.status >= 400) await deleteBranch(wanted.graph, wanted.branch).catch(() => undefined);
    throw error;
  }
}

async function deleteBranch(graph: string, branch: string): Promise<void> {
  await ask(api.DELETE('/graphs/{graph_id}/branches/{branch}', { params: { path: { graph_id: graph, branch } } }));
}

async function createBranch(graph: string, name: string, from: string): Promise<void> {
  await ask(api.POST('/graphs/{graph_id}/branches', { params: { path: { graph_id: graph } }, body: { name, from } }));
}

async function applySchema({ graph, branch, additions, message }: Wanted, told: (step: Step) => void): Promise<void> {
  told({ what: 'Changing the schema', part: null });
  const { schema_source } = await ask(api.GET('/graphs/{graph_id}/schema', { params: { path: { graph_id: graph }, query: { branch } } }));
  const whole = `${schema_source.trimEnd()}\n\n${additions.trim()}\n`;
  await ask(api.POST('/graphs/{graph_id}/schema/apply', { params: { path: { graph_id: graph } }, body: { schema_source: whole, branch, message: message.trim() || 'Types for loaded files' } }));
}

async function load(wanted: Wanted, dry: boolean, told: (step: Step) => void): Promise<LoadOutput> {
  told({ what: 'Starting', part: null });
  const body = {
    mapping: wanted.mapping,
    branch: wanted.branch,
    from: wanted.from,
    mode: wanted.mode,
    dry_run: dry,
    on_error: wanted.skip ? 'skip' : 'stop',
    message: wanted.message.trim() || null,
  };
  const response = await rawFetch(`/graphs/${encodeURIComponent(wanted.graph)}/load/files`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/x-ndjson' },
    body: JSON.stringify(body),
  });
  for await (const line of lines(response)) {
    const found = JSON.parse(line) as { progress?: { stage: string; done: number; total: number }; result?: LoadOutput; error?: string; code?: string };
    if (found.progress) told({ what: STAGES[found.progress.stage] ?? found.progress.stage, part: found.progress.total ? found.progress.done / found.progress.total : null });
    else if (found.result) return found.result;
    else throw new ApiError(400, found.error ?? 'The load failed.', found.code, {});
  }
  throw new ApiError(0, 'The connection ended before the load did. Look at the history whether it was committed.', undefined, {});
}

/** The lines of a body as they arrive. */
export async function* lines(response: Response): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const parts = (rest + value).split('\n');
    rest = parts.pop()!;
    yield* parts.filter(Boolean);
  }
  if (rest) yield rest;
}
