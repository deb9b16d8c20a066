// Completion for queries from the schema, in the browser: variables, types, properties, edges and words.
import type { Completion, CompletionSource } from '@codemirror/autocomplete';
import { edgeWord, type GraphSchema } from '../schema';
import words from './words.json';

export function queryCompletion(schema: GraphSchema | undefined): CompletionSource {
  return (context) => {
    const text = context.state.doc.toString();
    const property = context.matchBefore(/\$[\p{L}_][\p{L}\p{N}_]*\.[\p{L}\p{N}_]*/u);
    if (property && schema) {
      const variable = property.text.slice(0, property.text.indexOf('.'));
      return { from: property.from + variable.length + 1, options: propertiesOf(variable, text, schema), validFor: /^[\p{L}\p{N}_]*$/u };
    }
    const variable = context.matchBefore(/\$[\p{L}\p{N}_]*/u);
    if (variable) return { from: variable.from, options: variablesIn(text).map((label) => ({ label, type: 'variable' })), validFor: /^\$[\p{L}\p{N}_]*$/u };
    const type = context.matchBefore(/:\s*[\p{Lu}][\p{L}\p{N}_]*|:\s+/u);
    if (type && schema) {
      const from = type.from + type.text.search(/[^:\s]|$/);
      return { from, options: typesOf(schema), validFor: /^[\p{L}\p{N}_]*$/u };
    }
    const word = context.matchBefore(/[\p{L}_][\p{L}\p{N}_]*/u);
    if (!word && !context.explicit) return null;
    return { from: word?.from ?? context.pos, options: [...edgesOf(schema), ...WORDS, ...typesOf(schema)], validFor: /^[\p{L}\p{N}_]*$/u };
  };
}

const WORDS: Completion[] = [
  ...words.queryKeywords.map((label) => ({ label, type: 'keyword' })),
  ...words.calls.map((label) => ({ label, type: 'function', apply: `${label}(` })),
  ...words.constants.map((label) => ({ label, type: 'constant' })),
];

function variablesIn(text: string): string[] {
  return [...new Set([...text.matchAll(/\$[\p{L}_][\p{L}\p{N}_]*/gu)].map((each) => each[0]))].filter((each) => each !== '$_');
}

function typesOf(schema: GraphSchema | undefined): Completion[] {
  return [...(schema?.nodes ?? []), ...(schema?.interfaces ?? [])].map((each) => ({ label: each.name, type: 'class', detail: each.kind }));
}

function edgesOf(schema: GraphSchema | undefined): Completion[] {
  return (schema?.edges ?? []).map((each) => ({ label: edgeWord(each.name), type: 'property', detail: `${each.from} → ${each.to}`, boost: 2 }));
}

function propertiesOf(variable: string, text: string, schema: GraphSchema): Completion[] {
  const types = typesOfVariable(variable, text, schema);
  const known = [...schema.nodes, ...schema.interfaces, ...schema.edges].filter((each) => types.length === 0 || types.includes(each.name));
  const found = new Map<string, Completion>();
  for (const type of known) for (const each of type.properties) found.set(each.name, { label: each.name, type: 'property', detail: each.type });
  return [...found.values()];
}

/** The types that a variable can have, from its binding or from the edges it is an end of. */
export function typesOfVariable(variable: string, text: string, schema: GraphSchema): string[] {
  const name = variable.replace('$', '\\$');
  const bound = new RegExp(`${name}\\s*:\\s*([\\p{L}_][\\p{L}\\p{N}_]*)`, 'u').exec(text)?.[1];
  if (bound) {
    const edge = schema.edges.find((each) => edgeWord(each.name) === bound || each.name === bound);
    return [edge ? edge.name : bound];
  }
  const found = new Set<string>();
  for (const { left, right, edge } of hopsOf(text, schema)) {
    if (left !== variable && right !== variable) continue;
    const forward = goesForward(left, edge, text);
    if (right === variable) found.add(forward ? edge.to : edge.from);
    if (left === variable) found.add(edge.from);
  }
  return [...found];
}

export interface Hop {
  left: string;
  right: string;
  edge: GraphSchema['edges'][number];
  variable: string | undefined;
  path: boolean;
}

const HOP = /(\$[\p{L}\p{N}_]+)\s+(?:(\$[\p{L}\p{N}_]+)\s*:\s*)?<?([\p{L}_][\p{L}\p{N}_]*)>?(\{[^}]*\})?\s+(\$[\p{L}\p{N}_]+)/gu;

/** The steps along edges that a text names, between two variables. */
export function hopsOf(text: string, schema: GraphSchema): Hop[] {
  return [...text.matchAll(HOP)].flatMap(([, left, variable, word, bounds, right]) => {
    const edge = schema.edges.find((each) => edgeWord(each.name).toLowerCase() === word!.toLowerCase());
    return edge ? [{ left: left!, right: right!, edge, variable, path: bounds !== undefined }] : [];
  });
}

/** Whether a step from this variable follows its edges: it goes against them only from the type that they lead to. */
export function goesForward(left: string, edge: Hop['edge'], text: string): boolean {
  const type = new RegExp(`\\${left}\\s*:\\s*([\\p{L}_][\\p{L}\\p{N}_]*)`, 'u').exec(text)?.[1];
  return type !== edge.to || type === edge.from;
}
