// Completion and findings by the server's compiler; where it cannot be asked, the browser's own completion is used.
import type { Completion, CompletionSource } from '@codemirror/autocomplete';
import type { Diagnostic } from '@codemirror/lint';
import { api, ask } from '../api/client';

const KINDS: Record<string, string> = { keyword: 'keyword', type: 'class', property: 'property', edge: 'property', variable: 'variable', function: 'function' };

export function assistedCompletion(graph: string, branch: string, language: 'gq' | 'pg', otherwise?: CompletionSource): CompletionSource {
  return async (context) => {
    const before = context.matchBefore(/[$@.:]?[\p{L}\p{N}_]*$/u);
    if (!context.explicit && !before?.text) return null;
    try {
      const text = context.state.doc.toString();
      const body = { text, language, want: ['complete' as const], offset: context.pos, units: 'utf16' as const, branch };
      const { completion } = await ask(api.POST('/graphs/{graph_id}/assist', { params: { path: { graph_id: graph } }, body }));
      if (!completion || completion.candidates.length === 0) return (await otherwise?.(context)) ?? null;
      const options: Completion[] = completion.candidates.map((each) => ({ label: each.text, detail: each.detail.split('\n')[0], type: KINDS[each.kind] ?? 'text' }));
      return { from: completion.replace.start, to: completion.replace.end, options };
    } catch {
      return (await otherwise?.(context)) ?? null;
    }
  };
}

/** What the compiler finds wrong with a text, where it is. */
export async function findings(graph: string, branch: string, language: 'gq' | 'pg', text: string, signal: AbortSignal): Promise<Diagnostic[]> {
  const body = { text, language, want: ['diagnose' as const], units: 'utf16' as const, branch };
  const found = await ask(api.POST('/graphs/{graph_id}/assist', { params: { path: { graph_id: graph } }, body, signal }));
  return (found.diagnostics ?? []).map((each) => ({
    from: each.range?.start ?? 0,
    to: each.range?.end ?? 0,
    severity: each.severity,
    message: [`${each.code} ${each.message}`, each.help].filter(Boolean).join('\n'),
  }));
}
