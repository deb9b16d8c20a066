// The text editor for queries and schemas: highlighting, completion, squiggles, the studio's colours.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionSource } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, indentUnit } from '@codemirror/language';
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, Prec } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { colours, queryLanguage, schemaLanguage } from '../lib/language/highlight';

export type { Diagnostic };

interface Props {
  value: string;
  onChange: (next: string) => void;
  language: 'gq' | 'pg' | 'text';
  label: string;
  diagnostics?: Diagnostic[];
  complete?: CompletionSource;
  onRun?: () => void;
  readOnly?: boolean;
  hint?: string;
}

const LOOK = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'transparent', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', fontVariantLigatures: 'none' },
  '.cm-content': { caretColor: 'var(--accent)', padding: '10px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--accent)', borderLeftWidth: '2px' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--sunken) 70%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { background: 'color-mix(in srgb, var(--accent) 28%, transparent)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--accent-soft)', outline: '1px solid var(--accent)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--text)', border: '1px solid var(--line)', borderRadius: '6px', boxShadow: 'var(--shadow)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent-soft)', color: 'var(--text)' },
  '.cm-completionDetail': { color: 'var(--muted)', fontStyle: 'normal' },
  '.cm-placeholder': { color: 'var(--muted)' },
});

/** What Chromium would style by itself, which the policy of the page refuses: text over a selection, and several lines at once. */
function insertText(event: InputEvent, view: EditorView): boolean {
  const { main } = view.state.selection;
  const text = event.data;
  if (view.state.readOnly || view.composing || event.inputType !== 'insertText' || !text || (main.empty && !text.includes('\n'))) return false;
  event.preventDefault();
  const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: 'input.type', scrollIntoView: true });
  const handled = view.state.facet(EditorView.inputHandler).some((handler) => handler(view, main.from, main.to, text, insert));
  if (!handled) view.dispatch(insert());
  return true;
}

export function Editor({ value, onChange, language, label, diagnostics, complete, onRun, readOnly = false, hint }: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef({ onChange, onRun, complete });
  latest.current = { onChange, onRun, complete };
  const editable = useRef(new Compartment());

  useEffect(() => {
    const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
    view.current = new EditorView({
      parent: holder.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          EditorView.cspNonce.of(nonce),
          lineNumbers(),
          lintGutter(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          closeBrackets(),
          indentUnit.of('  '),
          autocompletion({ override: [async (context) => (await latest.current.complete?.(context)) ?? null] }),
          ...(language === 'text' ? [] : [language === 'gq' ? queryLanguage : schemaLanguage, colours]),
          LOOK,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          EditorView.domEventHandlers({ beforeinput: insertText }),
          editable.current.of([EditorState.readOnly.of(readOnly)]),
          ...(hint ? [placeholder(hint)] : []),
          Prec.highest(keymap.of([{ key: 'Mod-Enter', run: () => (latest.current.onRun?.(), true) }])),
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap, ...searchKeymap, indentWithTab]),
          EditorView.updateListener.of((update) => update.docChanged && latest.current.onChange(update.state.doc.toString())),
        ],
      }),
    });
    return () => view.current?.destroy();
  }, [language, label]);

  useEffect(() => {
    const editor = view.current;
    if (editor && editor.state.doc.toString() !== value) editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({ effects: editable.current.reconfigure([EditorState.readOnly.of(readOnly)]) });
  }, [readOnly]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const end = editor.state.doc.length;
    const inside = (diagnostics ?? []).map((each) => ({ ...each, from: Math.min(each.from, end), to: Math.min(Math.max(each.to, each.from), end) }));
    editor.dispatch(setDiagnostics(editor.state, inside));
  }, [diagnostics]);

  return <div className="editor" ref={holder} />;
}
