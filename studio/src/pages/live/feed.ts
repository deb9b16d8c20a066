// The change feed of a branch, polled while the page is looked at.
import { useEffect, useRef, useState } from 'react';
import { type Change, ofCommit } from '../../components/Changes';
import { api, ask, type Schemas } from '../../lib/api/client';

export interface Block {
  cause: Schemas['ChangeCauseOutput'];
  message: string | null;
  changes: Change[];
}

const EVERY_MS = 2000;
const MOST = 100; // commits that are kept
const PAGES = 10; // of one poll

/** The newest commits first, since the page was opened; `paused` keeps the place and asks for nothing. */
export function useFeed(graph: string, branch: string, paused: boolean): { blocks: Block[]; error: unknown; asked: number | null; retry: () => void; clear: () => void } {
  const [blocks, setBlocks] = useState<Block[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [asked, setAsked] = useState<number | null>(null);
  const [turn, setTurn] = useState(0);
  const cursor = useRef<{ of: string; value: string } | null>(null);
  useEffect(() => {
    setBlocks([]);
    setAsked(null);
  }, [graph, branch]);
  useEffect(() => {
    if (paused) return;
    const stop = new AbortController();
    const here = `${graph}\n${branch}`;
    let timer = 0;
    const poll = async () => {
      try {
        const known = cursor.current?.of === here ? cursor.current.value : null;
        const { found, next } = await read(graph, branch, known, stop.signal);
        cursor.current = { of: here, value: next };
        if (found.length > 0) setBlocks((before) => [...found.reverse(), ...before].slice(0, MOST));
        setAsked(Date.now());
        setError(null);
        timer = window.setTimeout(() => void poll(), EVERY_MS);
      } catch (failure) {
        if (!stop.signal.aborted) setError(failure);
      }
    };
    void poll();
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [graph, branch, paused, turn]);
  const retry = () => {
    cursor.current = null;
    setError(null);
    setTurn((before) => before + 1);
  };
  return { blocks, error, asked, retry, clear: () => setBlocks([]) };
}

/** What has happened since a cursor, oldest first, and the cursor after it. */
async function read(graph: string, branch: string, cursor: string | null, signal: AbortSignal): Promise<{ found: Block[]; next: string }> {
  const found = new Map<string, Block>();
  let position: { cursor?: string; start?: string; page_token?: string } = cursor === null ? { start: 'now' } : { cursor };
  let next = cursor ?? '';
  for (let page = 0; page < PAGES; page += 1) {
    const told = await ask(api.GET('/graphs/{graph_id}/changes', { params: { path: { graph_id: graph }, query: { branch, limit: 200, ...position } }, signal }));
    for (const { cause, changes } of told.blocks) {
      const known = found.get(cause.graph_commit_id);
      if (known) known.changes.push(...changes.map(ofCommit));
      else found.set(cause.graph_commit_id, { cause, message: null, changes: changes.map(ofCommit) });
    }
    if (told.cursor) next = told.cursor;
    if (told.next_page_token) position = { page_token: told.next_page_token };
    else if (told.caught_up !== false || !told.cursor) break;
    else position = { cursor: told.cursor };
  }
  const blocks = [...found.values()];
  await Promise.all(blocks.map(async (each) => (each.message = await messageOf(graph, each.cause.graph_commit_id, signal))));
  return { found: blocks, next };
}

async function messageOf(graph: string, commit: string, signal: AbortSignal): Promise<string | null> {
  try {
    const { message, kind } = await ask(api.GET('/graphs/{graph_id}/commits/{commit_id}', { params: { path: { graph_id: graph, commit_id: commit } }, signal }));
    return message ?? kind;
  } catch {
    return null; // the changes are worth showing without it
  }
}
