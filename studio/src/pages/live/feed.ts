// The change feed of a branch, pushed by the server while the page is looked at.
import { useEffect, useRef, useState } from 'react';
import { type Change, ofCommit } from '../../components/Changes';
import { ApiError, api, ask, exact, rawFetch, type Schemas } from '../../lib/api/client';

export interface Block {
  cause: Schemas['ChangeCauseOutput'];
  message: string | null;
  changes: Change[];
}

interface Event {
  kind: string;
  id: string | null;
  data: unknown;
}

const MOST = 100; // commits that are kept
const AGAIN_MS = 1000; // a connection that ended by itself is made again after this

/** The newest commits first, since the page was opened; `paused` keeps the place and listens to nothing. */
export function useFeed(graph: string, branch: string, paused: boolean): { blocks: Block[]; error: unknown; listening: boolean; retry: () => void; clear: () => void } {
  const [blocks, setBlocks] = useState<Block[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [listening, setListening] = useState(false);
  const [turn, setTurn] = useState(0);
  const cursor = useRef<{ of: string; value: string } | null>(null);
  useEffect(() => setBlocks([]), [graph, branch]);
  useEffect(() => {
    if (paused) return;
    const stop = new AbortController();
    const here = `${graph}\n${branch}`;
    const listen = async () => {
      while (!stop.signal.aborted) {
        const known = cursor.current?.of === here ? cursor.current.value : null;
        for await (const event of events(graph, branch, known, stop.signal)) {
          setListening(true);
          setError(null);
          if (event.id !== null) cursor.current = { of: here, value: event.id };
          if (event.kind === 'changes') {
            const block = await blockOf(graph, event.data as Schemas['CommitChangesOutput'], stop.signal);
            setBlocks((before) => joined(block, before));
          } else if (event.kind === 'error') {
            const told = event.data as { error?: string; code?: string };
            throw new ApiError(403, told.error ?? 'The feed ended.', told.code, {});
          }
        }
        setListening(false);
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    };
    listen().catch((failure: unknown) => stop.signal.aborted || setError(failure));
    return () => {
      stop.abort();
      setListening(false);
    };
  }, [graph, branch, paused, turn]);
  const retry = () => {
    cursor.current = null;
    setError(null);
    setTurn((before) => before + 1);
  };
  return { blocks, error, listening, retry, clear: () => setBlocks([]) };
}

/** A commit whose changes fill several events is one block. */
function joined(block: Block, before: Block[]): Block[] {
  const known = before.find((each) => each.cause.graph_commit_id === block.cause.graph_commit_id);
  if (!known) return [block, ...before].slice(0, MOST);
  return before.map((each) => (each === known ? { ...each, changes: [...each.changes, ...block.changes] } : each));
}

/** Server-sent events, read with `fetch`: an EventSource could not send the token. */
async function* events(graph: string, branch: string, cursor: string | null, signal: AbortSignal): AsyncGenerator<Event> {
  const query = new URLSearchParams({ branch, ...(cursor === null ? { start: 'now' } : { cursor }) });
  const place = `/graphs/${encodeURIComponent(graph)}/changes/stream?${query.toString()}`;
  const response = await rawFetch(place, { signal, headers: { Accept: 'text/event-stream' } });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n\n');
    rest = parts.pop()!;
    for (const part of parts) {
      const event = parse(part);
      if (event) yield event;
    }
  }
}

function parse(text: string): Event | null {
  const found: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const at = line.indexOf(': ');
    if (at > 0) found[line.slice(0, at)] = line.slice(at + 2);
  }
  if (found.event === undefined || found.data === undefined) return null; // a comment that says that the server lives
  return { kind: found.event, id: found.id ?? null, data: JSON.parse(exact(found.data)) };
}

async function blockOf(graph: string, told: Schemas['CommitChangesOutput'], signal: AbortSignal): Promise<Block> {
  return { cause: told.cause, message: await messageOf(graph, told.cause.graph_commit_id, signal), changes: told.changes.map(ofCommit) };
}

async function messageOf(graph: string, commit: string, signal: AbortSignal): Promise<string | null> {
  try {
    const { message, kind } = await ask(api.GET('/graphs/{graph_id}/commits/{commit_id}', { params: { path: { graph_id: graph, commit_id: commit } }, signal }));
    return message ?? kind;
  } catch {
    return null; // the changes are worth showing without it
  }
}
