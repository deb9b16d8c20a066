// Where a link leads while a page that would show more is not there.
import { href } from '../lib/router';
import { PAGES } from './registry';

/** The place that shows a commit: its page in the history, or the graph as it was then. */
export function commitLink(graph: string, commit: string): string {
  const hasHistory = PAGES.some((each) => each.name === 'history');
  return hasHistory ? href(graph, 'history', { commit }) : href(graph, 'overview', { at: `at:${commit}` });
}
