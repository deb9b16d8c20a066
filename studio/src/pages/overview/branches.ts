// How far each branch is ahead of main and behind it, from the histories that the API lists.
import { api, ask, type Schemas } from '../../lib/api/client';

export interface BranchState {
  name: string;
  head: Schemas['CommitOutput'] | null;
  ahead: number | null; // null: further than the part of the history that was looked at
  behind: number | null;
}

const LOOKED_AT = 400;

export async function branchStates(graph: string, names: string[], signal: AbortSignal): Promise<BranchState[]> {
  const histories = new Map<string, Schemas['CommitOutput'][]>();
  await Promise.all(
    names.slice(0, 40).map(async (branch) => {
      try {
        const found = await ask(api.GET('/graphs/{graph_id}/commits', { params: { path: { graph_id: graph }, query: { branch, limit: LOOKED_AT, maintenance: true } }, signal }));
        histories.set(branch, found.commits);
      } catch {
        // A branch that may not be read is listed by its name only.
      }
    }),
  );
  const main = histories.get('main') ?? [];
  return names.map((name) => {
    const own = histories.get(name);
    const fit = own !== undefined && own.length > 0 && main.length > 0;
    return { name, head: own?.[0] ?? null, ahead: fit ? missing(own, main) : null, behind: fit ? missing(main, own) : null };
  });
}

function missing(of: Schemas['CommitOutput'][], from: Schemas['CommitOutput'][]): number | null {
  const known = new Set(from.map((each) => each.graph_commit_id));
  const count = of.filter((each) => !known.has(each.graph_commit_id)).length;
  return count === of.length && of.length >= LOOKED_AT ? null : count;
}
