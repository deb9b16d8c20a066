// Rows as files and as text for the clipboard.
import { rawFetch } from '../../lib/api/client';
import { cell } from '../../lib/format';
import { type Point, target } from '../../lib/point';
import type { Outcome } from './run';

const ARROW = 'application/vnd.apache.arrow.stream';

export function save(name: string, kind: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type: kind }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** RFC 4180. A cell that a spreadsheet would run as a formula gets an apostrophe in front. */
export function asCsv({ columns, rows }: Outcome): string {
  const quoted = (value: unknown): string => {
    let text = cell(value);
    if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map(quoted).join(',')];
  for (const row of rows) lines.push(columns.map((name) => quoted(row[name])).join(','));
  return `${lines.join('\r\n')}\r\n`;
}

export function copyable({ columns, rows }: Outcome): string {
  const plain = (value: unknown): string => cell(value).replace(/[\t\n\r]/g, ' ');
  return [columns.join('\t'), ...rows.map((row) => columns.map((name) => plain(row[name])).join('\t'))].join('\n');
}

export async function downloadArrow(graph: string, query: string, point: Point): Promise<void> {
  const response = await rawFetch(`/graphs/${encodeURIComponent(graph)}/query`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: ARROW },
    body: JSON.stringify({ query, ...target(point) }),
  });
  save('answer.arrows', ARROW, await response.arrayBuffer());
}
