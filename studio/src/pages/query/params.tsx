// The parameters that a query declares, as a form.
export interface Param {
  name: string;
  type: string;
  optional: boolean;
}

export type ParamValues = Record<string, string>;

/** The parameters of the first query of a text; a body alone has none. */
export function declaredParams(text: string): Param[] {
  const head = /\bquery\s+[\p{L}_][\p{L}\p{N}_]*\s*\(/u.exec(text);
  if (!head) return [];
  let depth = 1;
  let end = head.index + head[0].length;
  const start = end;
  while (end < text.length && depth > 0) {
    if (text[end] === '(' || text[end] === '[') depth += 1;
    if (text[end] === ')' || text[end] === ']') depth -= 1;
    end += 1;
  }
  const inside = text.slice(start, end - 1);
  return [...inside.matchAll(/\$([\p{L}_][\p{L}\p{N}_]*)\s*:\s*([\p{L}\p{N}_]+(?:\([^)]*\))?|\[[^\]]*\])(\?)?(\s*=)?/gu)].map(([, name, type, optional, defaulted]) => ({ name: name!, type: type!, optional: !!optional || !!defaulted }));
}

export function isMutation(text: string): boolean {
  const bare = text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, ' ');
  return /(^|[{}\s])(insert|update|delete)\s+[\p{L}_$]/u.test(bare);
}

/** The values as JSON, by the declared types; what was left empty is left out. */
export function typedParams(params: Param[], values: ParamValues): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const { name, type, optional } of params) {
    const text = values[name] ?? '';
    if (text === '') {
      if (!optional && type === 'String') found[name] = '';
      continue;
    }
    found[name] = typed(name, type, text);
  }
  return found;
}

function typed(name: string, type: string, text: string): unknown {
  if (/^(String|Date|DateTime|enum\b)/.test(type)) return text;
  if (/^Bool/.test(type)) return text === 'true';
  if (/^(I64|U64)$/.test(type)) return Number.isSafeInteger(Number(text)) ? Number(text) : text;
  if (/^(I|U|F)\d+$/.test(type)) {
    const number = Number(text);
    if (Number.isNaN(number)) throw new Error(`$${name} must be a number (${type}), not “${text}”.`);
    return number;
  }
  try {
    return JSON.parse(text);
  } catch {
    if (/^(Vector|\[)/.test(type)) throw new Error(`$${name} must be a JSON list (${type}), such as [1, 2].`);
    return text;
  }
}

/** How a value is written where that is not plain. */
function exampleOf(type: string): string | undefined {
  if (type === 'DateTime') return '2026-11-18T12:00:00Z';
  if (/^(Vector|\[[IUF]\d)/.test(type)) return '[1, 2]';
  return type.startsWith('[') ? '["a", "b"]' : undefined;
}

export function ParamForm({ params, values, onChange }: { params: Param[]; values: ParamValues; onChange: (next: ParamValues) => void }) {
  return (
    <div className="params" role="group" aria-label="Parameters">
      {params.map(({ name, type, optional }) => {
        const set = (value: string) => onChange({ ...values, [name]: value });
        const id = `param-${name}`;
        return (
          <div className="field" key={name}>
            <label htmlFor={id}>
              ${name} <span className="mono">{type}{optional ? '?' : ''}</span>
            </label>
            {/^Bool/.test(type) ? (
              <select id={id} className="select" value={values[name] ?? ''} onChange={(event) => set(event.target.value)}>
                <option value="">{optional ? 'not given' : 'choose'}</option>
                <option>true</option>
                <option>false</option>
              </select>
            ) : (
              <input id={id} className="input" type={type === 'Date' ? 'date' : 'text'} inputMode={/^(I|U|F)\d/.test(type) ? 'decimal' : undefined} placeholder={exampleOf(type)} value={values[name] ?? ''} onChange={(event) => set(event.target.value)} />
            )}
          </div>
        );
      })}
    </div>
  );
}
