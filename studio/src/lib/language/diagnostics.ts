// Where in a text an error of the compiler is: the server's sentence ends with ` --> name:line:column` and an excerpt.
import type { Diagnostic } from '@codemirror/lint';

export function diagnosticOf(message: string, text: string): Diagnostic | null {
  const place = /-->\s*[^\n]*?:(\d+):(\d+)/.exec(message);
  if (!place) return null;
  const lines = text.split('\n');
  const line = Math.min(Number(place[1]), lines.length);
  const start = lines.slice(0, line - 1).reduce((total, each) => total + each.length + 1, 0);
  const from = Math.min(start + Number(place[2]) - 1, text.length);
  const carets = /^\s*\|\s*(\^+)/m.exec(message)?.[1]?.length ?? 1;
  const to = Math.max(Math.min(from + carets, text.length), Math.min(from + 1, text.length));
  return { from, to, severity: 'error', message: summaryOf(message) };
}

/** The first line, and the help if there is any; the excerpt is in the editor already. */
export function summaryOf(message: string): string {
  const help = [...message.matchAll(/^\s*= (?:help|expected): (.*)$/gm)].map((each) => each[0].trim().slice(2));
  return [message.split('\n')[0], ...help].join('\n');
}
