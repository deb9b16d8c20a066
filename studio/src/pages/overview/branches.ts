// The newest commit of each branch.
import { api, ask, type Schemas } from '../../lib/api/client';

const MOST = 40;

export async function headsOf(graph: string, names: string[], signal: AbortSignal): Promise<Map<string, Schemas['CommitOutput']>> {
  const found = new Map<string, Schemas['CommitOutput']>();
  await Promise.all(
    names.slice(0, MOST).map(async (branch) => {
      try {
        const { commits } = await ask(api.GET('/graphs/{graph_id}/commits', { params: { path: { graph_id: graph }, query: { branch, limit: 1 } }, signal }));
        if (commits[0]) found.set(branch, commits[0]);
      } catch {
        // A branch that may not be read is listed without its commit.
      }
    }),
  );
  return found;
}
