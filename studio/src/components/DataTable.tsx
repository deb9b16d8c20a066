// Rows in a virtualised table: only what is on the screen is in the document, so a million rows scroll like ten.
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { cell } from '../lib/format';

export type Row = Record<string, unknown>;

interface Props {
  columns: string[];
  rows: Row[];
  label: string;
  onRow?: (row: Row) => void;
}

const HEIGHT = 30;
// Browsers cap the height of an element at about 16 to 33 million pixels; beyond this, rows are reached by position.
const TALLEST = 15_000_000;

export function DataTable({ columns, rows, label, onRow }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [sort, setSort] = useState<{ column: string; down: boolean } | null>(null);
  useEffect(() => setSort(null), [rows]);
  const order = useMemo(() => sorted(rows, sort), [rows, sort]);
  const widths = useMemo(() => columns.map((name) => widthOf(name, rows)), [columns, rows]);
  const numeric = useMemo(() => columns.map((name) => isNumeric(name, rows)), [columns, rows]);
  const scale = Math.min(1, TALLEST / (rows.length * HEIGHT || 1));
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => HEIGHT * scale, overscan: scale < 1 ? 60 : 12 });
  const side = Math.max(56, String(rows.length).length * 8 + 22); // the numbers of the rows
  const total = widths.reduce((sum, each) => sum + each, side);
  const items = virtual.getVirtualItems();
  const first = items[0];
  return (
    <div className="grid" ref={scroller} role="table" aria-label={label} aria-rowcount={rows.length + 1} tabIndex={0}>
      <div className="grid-table" style={{ width: total }}>
        <div className="grid-head" role="row" aria-rowindex={1}>
          <div role="columnheader" style={{ width: side }}>
            <span className="visually-hidden">Row</span>
          </div>
          {columns.map((name, at) => (
            <div role="columnheader" key={name} style={{ width: widths[at] }} aria-sort={sort?.column !== name ? 'none' : sort.down ? 'descending' : 'ascending'}>
              <button onClick={() => setSort(sort?.column !== name ? { column: name, down: false } : sort.down ? null : { column: name, down: true })} title={`Sort by ${name}`}>
                <span className="clip">{name}</span>
                {sort?.column === name && (sort.down ? <ArrowDown size={13} /> : <ArrowUp size={13} />)}
              </button>
            </div>
          ))}
        </div>
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {items.map((item) => {
            const row = rows[order ? order[item.index]! : item.index]!;
            const top = first!.start + (item.index - first!.index) * HEIGHT;
            return (
              <div className="grid-row" role="row" aria-rowindex={item.index + 2} key={item.key} style={{ transform: `translateY(${top}px)`, width: total }} onClick={() => onRow?.(row)}>
                <div className="grid-cell rownum" role="rowheader" style={{ width: side }}>
                  {item.index + 1}
                </div>
                {columns.map((name, at) => (
                  <Cell key={name} value={row[name]} width={widths[at]!} numeric={numeric[at]!} />
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function Cell({ value, width, numeric }: { value: unknown; width: number; numeric: boolean }) {
  const text = cell(value);
  return (
    <div className={numeric ? 'grid-cell num' : 'grid-cell'} role="cell" style={{ width }} title={text.length > 20 ? text.slice(0, 1000) : undefined}>
      {value === null || value === undefined ? <span className="null">null</span> : text.slice(0, 400)}
    </div>
  );
}

function sorted(rows: Row[], sort: { column: string; down: boolean } | null): Uint32Array | null {
  if (!sort) return null;
  const order = Uint32Array.from(rows, (_, at) => at);
  const way = sort.down ? -1 : 1;
  const values = rows.map((row) => row[sort.column]);
  return order.sort((a, b) => way * compare(values[a], values[b]) || a - b);
}

function compare(a: unknown, b: unknown): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (isWhole(a) && isWhole(b)) return BigInt(a) < BigInt(b) ? -1 : 1;
  const one = cell(a);
  const other = cell(b);
  return one < other ? -1 : one > other ? 1 : 0;
}

/** A whole number; one that JavaScript would round arrives as text. */
function isWhole(value: unknown): value is number | string {
  return typeof value === 'number' ? Number.isInteger(value) : typeof value === 'string' && /^-?\d{16,20}$/.test(value);
}

function widthOf(name: string, rows: Row[]): number {
  let longest = name.length + 3;
  for (let at = 0; at < Math.min(rows.length, 60); at += 1) longest = Math.max(longest, cell(rows[at]![name]).length);
  return Math.min(360, Math.max(90, longest * 7.6 + 24));
}

function isNumeric(name: string, rows: Row[]): boolean {
  for (let at = 0; at < Math.min(rows.length, 200); at += 1) {
    const value = rows[at]![name];
    if (value !== null && value !== undefined) return typeof value === 'number';
  }
  return false;
}

/** The columns that contain numbers and nothing else (but nulls). */
export function numericColumns(columns: string[], rows: Row[]): string[] {
  return columns.filter((name) => {
    let seen = false;
    for (let at = 0; at < Math.min(rows.length, 500); at += 1) {
      const value = rows[at]![name];
      if (value === null || value === undefined) continue;
      if (typeof value !== 'number') return false;
      seen = true;
    }
    return seen;
  });
}
