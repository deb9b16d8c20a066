// The declarations of a schema, as far as an interface needs them: types, properties, keys and the ends of edges.
export interface Property {
  name: string;
  type: string;
  key: boolean;
  indexed: boolean;
  optional: boolean;
}

export interface NodeType {
  kind: 'node' | 'interface';
  name: string;
  properties: Property[];
  key: string | null;
  implements: string[];
}

export interface EdgeType {
  kind: 'edge';
  name: string;
  from: string;
  to: string;
  properties: Property[];
}

export interface GraphSchema {
  source: string;
  nodes: NodeType[];
  interfaces: NodeType[];
  edges: EdgeType[];
}

const WORD = /[\p{L}_][\p{L}\p{N}_]*/uy;

/** Read declarations from text that the server accepted; what is not understood is skipped, never an error. */
export function parseSchema(source: string): GraphSchema {
  const text = withoutComments(source);
  const found: GraphSchema = { source, nodes: [], interfaces: [], edges: [] };
  const head = /\b(node|interface|edge)\s+([\p{L}_][\p{L}\p{N}_]*)/uy;
  let at = 0;
  while (at < text.length) {
    head.lastIndex = at;
    const match = head.exec(text);
    if (!match) {
      at = text[at] === '"' ? endOfString(text, at) : at + 1;
      continue;
    }
    const [, kind, name] = match;
    const open = findOutside(text, head.lastIndex, '{', kind === 'edge');
    const header = text.slice(head.lastIndex, open ?? endOfDeclaration(text, head.lastIndex));
    const close = open === null ? null : matching(text, open);
    const properties = open === null ? [] : parseProperties(text.slice(open + 1, close ?? text.length));
    at = close === null ? head.lastIndex + header.length : close + 1;
    if (kind === 'edge') {
      const ends = /:\s*([\p{L}_][\p{L}\p{N}_]*)\s*->\s*([\p{L}_][\p{L}\p{N}_]*)/u.exec(header);
      found.edges.push({ kind: 'edge', name: name!, from: ends?.[1] ?? '', to: ends?.[2] ?? '', properties });
    } else {
      const named = /\bimplements\s+([^{@]+)/u.exec(header)?.[1]?.split(',').map((each) => each.trim()).filter(Boolean) ?? [];
      const type: NodeType = { kind: kind as 'node' | 'interface', name: name!, properties, key: properties.find((each) => each.key)?.name ?? null, implements: named };
      (kind === 'node' ? found.nodes : found.interfaces).push(type);
    }
  }
  for (const node of found.nodes) {
    for (const name of node.implements) {
      const inherited = found.interfaces.find((each) => each.name === name)?.properties ?? [];
      for (const property of inherited) if (!node.properties.some((own) => own.name === property.name)) node.properties.push(property);
    }
  }
  return found;
}

function parseProperties(body: string): Property[] {
  const found: Property[] = [];
  for (const line of splitLines(body).flatMap(splitProperties)) {
    const match = /^\s*([\p{L}_][\p{L}\p{N}_]*)\s*:\s*((?:[^@"(]|\([^)]*\))+)(.*)$/su.exec(line);
    if (!match) continue;
    const type = match[2]!.trim().replace(/,$/, '').trim();
    found.push({ name: match[1]!, type, key: /@key\b/.test(match[3]!), indexed: /@(index|key)\b/.test(match[3]!), optional: type.endsWith('?') });
  }
  return found;
}

/** The properties of one line, which may declare several. */
function splitProperties(line: string): string[] {
  const blank = (found: string) => ' '.repeat(found.length);
  const masked = line.replace(/"(?:[^"\\]|\\.)*"/g, blank).replace(/\([^)]*\)/g, blank);
  const starts = [...masked.matchAll(/[\p{L}_][\p{L}\p{N}_]*\s*:/gu)].map((found) => found.index);
  return starts.map((start, at) => line.slice(start, starts[at + 1]));
}

function splitLines(body: string): string[] {
  return body.split(/\n/).filter((line) => line.trim());
}

function withoutComments(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (found) => (found.startsWith('"') ? found : ' '));
}

function endOfString(text: string, at: number): number {
  for (let end = at + 1; end < text.length; end += 1) {
    if (text[end] === '\\') end += 1;
    else if (text[end] === '"') return end + 1;
  }
  return text.length;
}

function findOutside(text: string, from: number, wanted: string, edge: boolean): number | null {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const one = text[at]!;
    if (one === '"') at = endOfString(text, at) - 1;
    else if (one === '(') depth += 1;
    else if (one === ')') depth -= 1;
    else if (one === wanted && depth === 0) return at;
    else if (edge && one === '\n' && depth === 0 && startsDeclaration(text, at + 1)) return null;
  }
  return null;
}

function startsDeclaration(text: string, at: number): boolean {
  const rest = text.slice(at, at + 200);
  return /^\s*(node|edge|interface)\s/.test(rest) || /^\s*$/.test(rest);
}

function endOfDeclaration(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

function matching(text: string, open: number): number | null {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === '"') at = endOfString(text, at) - 1;
    else if (text[at] === '{') depth += 1;
    else if (text[at] === '}' && --depth === 0) return at;
  }
  return null;
}

/** How an edge type is written in a query: its name with a small first letter. */
export function edgeWord(name: string): string {
  return name.slice(0, 1).toLowerCase() + name.slice(1);
}

export function isWord(text: string): boolean {
  WORD.lastIndex = 0;
  return WORD.exec(text)?.[0] === text;
}

const HUES = [238, 160, 25, 330, 200, 280, 95, 355, 45, 185];

/** A colour for a type that stays the same on every page; by its place among the types. */
export function typeColor(schema: GraphSchema | undefined, type: string, dark: boolean): string {
  const names = schema ? [...schema.nodes.map((each) => each.name), ...schema.edges.map((each) => each.name)] : [];
  const at = Math.max(0, names.indexOf(type));
  const hue = HUES[at % HUES.length]!;
  return hslToHex(hue, dark ? 62 : 58, dark ? 66 : 46);
}

function hslToHex(h: number, s: number, l: number): string {
  const a = (s / 100) * Math.min(l / 100, 1 - l / 100);
  const part = (n: number) => {
    const k = (n + h / 30) % 12;
    const value = l / 100 - a * Math.max(-1, Math.min(k - 3, Math.min(9 - k, 1)));
    return Math.round(255 * value).toString(16).padStart(2, '0');
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}
