// Completion and findings by the server's compiler; where it cannot be asked, the browser's own completion is used.
import type { Completion, CompletionSource } from '@codemirror/autocomplete';
import type { Diagnostic } from '@codemirror/lint';
import { api, ask } from '../api/client';

const KINDS: Record<string, string> = { keyword: 'keyword', type: 'class', property: 'property', edge: 'property', variable: 'variable', function: 'function' };

// A body alone runs as well as a declared query; the compiler reads files of declarations.
const HEAD = 'query q() {';

function declared(text: string, language: 'gq' | 'pg'): { whole: string; shift: number } {
  if (language === 'pg' || /\bquery\s+[\p{L}_]/u.test(text)) return { whole: text, shift: 0 };
  return { whole: `${HEAD}${text}\n}`, shift: HEAD.length };
}

export function assistedCompletion(graph: string, branch: string, language: 'gq' | 'pg', otherwise?: CompletionSource): CompletionSource {
  return async (context) => {
    const before = context.matchBefore(/[$@.:]?[\p{L}\p{N}_]*$/u);
    if (!context.explicit && !before?.text) return null;
    try {
      const { whole, shift } = declared(context.state.doc.toString(), language);
      const body = { text: whole, language, want: ['complete' as const], offset: context.pos + shift, units: 'utf16' as const, branch };
      const { completion } = await ask(api.POST('/graphs/{graph_id}/assist', { params: { path: { graph_id: graph } }, body }));
      if (!completion || completion.candidates.length === 0) return (await otherwise?.(context)) ?? null;
      const options: Completion[] = completion.candidates.map((each) => ({ label: each.text, detail: each.detail.split('\n')[0], type: KINDS[each.kind] ?? 'text' }));
      return { from: Math.max(0, completion.replace.start - shift), to: Math.max(0, completion.replace.end - shift), options };
    } catch {
      return (await otherwise?.(context)) ?? null;
    }
  };
}

/** What the compiler finds wrong with a text, where it is. */
export async function findings(graph: string, branch: string, language: 'gq' | 'pg', text: string, signal: AbortSignal): Promise<Diagnostic[]> {
  const { whole, shift } = declared(text, language);
  const body = { text: whole, language, want: ['diagnose' as const], units: 'utf16' as const, branch };
  const found = await ask(api.POST('/graphs/{graph_id}/assist', { params: { path: { graph_id: graph } }, body, signal }));
  return (found.diagnostics ?? []).map((each) => ({
    from: Math.max(0, (each.range?.start ?? 0) - shift),
    to: Math.max(0, (each.range?.end ?? 0) - shift),
    severity: each.severity,
    message: [`${each.code} ${each.message}`, each.help].filter(Boolean).join('\n'),
  }));
}
