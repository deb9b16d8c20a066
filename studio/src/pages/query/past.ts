// What was run lately, in this tab only: query texts may contain what the graph contains.
export interface Ran {
  text: string;
  at: string;
  when: number;
}

const KEY = (graph: string) => `omnigraph.past.${graph}`;
const MOST = 50;

export function past(graph: string): Ran[] {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(KEY(graph)) ?? '[]');
    return Array.isArray(found) ? (found as Ran[]) : [];
  } catch {
    return [];
  }
}

export function remember(graph: string, text: string, at: string): void {
  const others = past(graph).filter((each) => each.text !== text);
  try {
    sessionStorage.setItem(KEY(graph), JSON.stringify([{ text, at, when: Date.now() }, ...others].slice(0, MOST)));
  } catch {
    // A full storage costs the history only.
  }
}
