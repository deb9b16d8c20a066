// Rows as files and as text for the clipboard.
import { rawFetch } from '../../lib/api/client';
import { cell } from '../../lib/format';
import { type Point, target } from '../../lib/point';
import type { Row } from '../../components/DataTable';
import type { Outcome } from './run';

export interface Rows {
  columns: string[];
  rows: Row[];
}

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
export function asCsv({ columns, rows }: Rows): string {
  const quoted = (value: unknown): string => {
    let text = cell(value);
    if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map(quoted).join(',')];
  for (const row of rows) lines.push(columns.map((name) => quoted(row[name])).join(','));
  return `${lines.join('\r\n')}\r\n`;
}

export function copyable({ columns, rows }: Rows): string {
  const plain = (value: unknown): string => cell(value).replace(/[\t\n\r]/g, ' ');
  return [columns.join('\t'), ...rows.map((row) => columns.map((name) => plain(row[name])).join('\t'))].join('\n');
}

export async function downloadArrow(graph: string, outcome: Outcome, point: Point): Promise<void> {
  const response = await rawFetch(`/graphs/${encodeURIComponent(graph)}/query`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: ARROW },
    body: JSON.stringify({ query: outcome.text, params: outcome.params, ...target(point) }),
  });
  save('answer.arrows', ARROW, await response.arrayBuffer());
}

/** Each column with the type that all of its values share; text otherwise. */
export async function downloadParquet({ columns, rows }: Rows): Promise<void> {
  const { parquetWriteBuffer } = await import('hyparquet-writer');
  const columnData = columns.map((name) => {
    const values = rows.map((row) => row[name] ?? null);
    const present = values.filter((value) => value !== null);
    if (present.length > 0 && present.every((value) => typeof value === 'number')) return { name, data: values as (number | null)[], type: 'DOUBLE' as const, nullable: true };
    if (present.length > 0 && present.every((value) => typeof value === 'boolean')) return { name, data: values as (boolean | null)[], type: 'BOOLEAN' as const, nullable: true };
    return { name, data: values.map((value) => (value === null ? null : cell(value))), type: 'STRING' as const, nullable: true };
  });
  save('answer.parquet', 'application/vnd.apache.parquet', parquetWriteBuffer({ columnData }));
}
