// Colours for queries and schemas in the editor. The words come from the compiler (tools/build_studio.py writes them).
import { HighlightStyle, StreamLanguage, type StreamParser, syntaxHighlighting } from '@codemirror/language';
import { tags } from '@lezer/highlight';
import words from './words.json';

interface State {
  comment: boolean;
}

function parser(keywords: string[], constants: string[]): StreamParser<State> {
  const keyword = new Set(keywords);
  const constant = new Set(constants);
  const operator = new Set(words.operators);
  const call = new Set(words.calls);
  const type = new Set([...words.types, ...words.typeKeywords]);
  return {
    startState: () => ({ comment: false }),
    token(stream, state) {
      if (state.comment) {
        state.comment = !stream.match(/.*?\*\//);
        if (state.comment) stream.skipToEnd();
        return 'comment';
      }
      if (stream.eatSpace()) return null;
      if (stream.match('//')) {
        stream.skipToEnd();
        return 'comment';
      }
      if (stream.match('/*')) {
        state.comment = true;
        return 'comment';
      }
      if (stream.match(/"(?:[^"\\]|\\.)*"?/)) return 'string';
      if (stream.match(/\$[\p{L}_][\p{L}\p{N}_]*|\$_/u)) return 'variableName';
      if (stream.match(/@[\p{L}_][\p{L}\p{N}_]*/u)) return 'meta';
      if (stream.match(/\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number';
      if (stream.match(/\.[\p{L}_][\p{L}\p{N}_]*/u)) return 'propertyName';
      const name = stream.match(/[\p{L}_][\p{L}\p{N}_]*/u) as RegExpMatchArray | null;
      if (name) {
        const word = name[0];
        if (type.has(word)) return 'typeName';
        if (call.has(word) && /^\s*\(/.test(stream.string.slice(stream.pos))) return 'function';
        if (constant.has(word)) return 'atom';
        if (operator.has(word)) return 'operatorKeyword';
        if (keyword.has(word)) return 'keyword';
        return /^\p{Lu}/u.test(word) ? 'className' : null;
      }
      stream.next();
      return null;
    },
    languageData: { commentTokens: { line: '//', block: { open: '/*', close: '*/' } }, closeBrackets: { brackets: ['(', '[', '{', '"'] } },
    tokenTable: { function: tags.function(tags.variableName), className: tags.className, operatorKeyword: tags.operatorKeyword },
  };
}

export const queryLanguage = StreamLanguage.define(parser(words.queryKeywords, words.constants));
export const schemaLanguage = StreamLanguage.define(parser(words.schemaKeywords, words.schemaConstants));

export const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--kw)', fontWeight: '560' },
    { tag: [tags.string], color: 'var(--str)' },
    { tag: [tags.number, tags.atom], color: 'var(--num)' },
    { tag: [tags.variableName], color: 'var(--var)' },
    { tag: [tags.typeName, tags.className], color: 'var(--accent-text)', fontWeight: '560' },
    { tag: [tags.function(tags.variableName), tags.meta], color: 'var(--kw)' },
    { tag: [tags.propertyName], color: 'var(--text)' },
    { tag: [tags.comment], color: 'var(--com)', fontStyle: 'italic' },
  ]),
);
export { words };
