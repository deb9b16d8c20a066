// Bars, lines, points and histograms of the columns of an answer, drawn by uPlot on a canvas.
import { useEffect, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useStore } from '../lib/store';
import { isDark } from '../lib/theme';
import { numericColumns, type Row } from './DataTable';
import './chart.css';

type Kind = 'bar' | 'line' | 'scatter' | 'histogram';
const KINDS: { value: Kind; label: string }[] = [
  { value: 'bar', label: 'Bars' },
  { value: 'line', label: 'Line' },
  { value: 'scatter', label: 'Points' },
  { value: 'histogram', label: 'Histogram' },
];

export function Chart({ columns, rows }: { columns: string[]; rows: Row[] }) {
  const numbers = useMemo(() => numericColumns(columns, rows), [columns, rows]);
  const labels = columns.filter((name) => !numbers.includes(name));
  const [kind, setKind] = useState<Kind>(labels.length > 0 ? 'bar' : numbers.length > 1 ? 'scatter' : 'histogram');
  const [y, setY] = useState(numbers.at(-1) ?? '');
  const [x, setX] = useState(labels[0] ?? numbers[0] ?? '');
  const chosenY = numbers.includes(y) ? y : (numbers.at(-1) ?? '');
  const chosenX = columns.includes(x) ? x : (columns[0] ?? '');
  const data = useMemo(() => prepare(kind, rows, chosenX, chosenY), [kind, rows, chosenX, chosenY]);
  return (
    <div className="chart">
      <div className="row chart-controls">
        <label>
          Form{' '}
          <select className="select" value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
            {KINDS.map((each) => (
              <option key={each.value} value={each.value}>
                {each.label}
              </option>
            ))}
          </select>
        </label>
        {kind !== 'histogram' && (
          <label>
            Across{' '}
            <select className="select" value={chosenX} onChange={(event) => setX(event.target.value)}>
              {columns.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        <label>
          {kind === 'histogram' ? 'Of' : 'Up'}{' '}
          <select className="select" value={chosenY} onChange={(event) => setY(event.target.value)}>
            {numbers.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {data.left > 0 && <span className="muted small">{data.left} rows without numbers are left out</span>}
      </div>
      <Plot kind={kind} data={data} label={kind === 'histogram' ? `Histogram of ${chosenY}` : `${chosenY} by ${chosenX}`} />
    </div>
  );
}

interface Prepared {
  x: number[];
  y: number[];
  names: string[] | null;
  left: number;
}

function prepare(kind: Kind, rows: Row[], x: string, y: string): Prepared {
  if (kind === 'histogram') return histogram(rows.map((row) => row[y]).filter((value): value is number => typeof value === 'number'), rows.length);
  const numeric = rows.every((row) => typeof row[x] === 'number' || row[x] === null);
  const points: [number, number, string][] = [];
  rows.forEach((row, at) => {
    const value = row[y];
    if (typeof value === 'number' && row[x] !== null && row[x] !== undefined) points.push([numeric ? (row[x] as number) : at, value, String(row[x])]);
  });
  if (numeric) points.sort((a, b) => a[0] - b[0]);
  else points.forEach((each, at) => (each[0] = at));
  return { x: points.map((each) => each[0]), y: points.map((each) => each[1]), names: numeric ? null : points.map((each) => each[2]), left: rows.length - points.length };
}

function histogram(values: number[], all: number): Prepared {
  const low = Math.min(...sample(values));
  const high = Math.max(...sample(values));
  const bins = Math.max(1, Math.min(60, Math.ceil(Math.sqrt(values.length))));
  const width = (high - low) / bins || 1;
  const y = new Array<number>(bins).fill(0);
  for (const value of values) y[Math.min(bins - 1, Math.max(0, Math.floor((value - low) / width)))]! += 1;
  return { x: y.map((_, at) => low + width * (at + 0.5)), y, names: null, left: all - values.length };
}

/** Math.min takes its numbers as arguments, of which there may not be a million. */
function sample(values: number[]): number[] {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return values.length ? [low, high] : [0, 1];
}

function Plot({ kind, data, label }: { kind: Kind; data: Prepared; label: string }) {
  const holder = useRef<HTMLDivElement>(null);
  const dark = useStore(isDark);
  useEffect(() => {
    const element = holder.current!;
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: color('--muted'), grid: { stroke: color('--line'), width: 1 }, ticks: { stroke: color('--line') }, font: '12px "Inter Variable", sans-serif' };
    const bars = kind === 'bar' || kind === 'histogram';
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: element.clientHeight,
        legend: { show: false },
        scales: { x: { time: false, ...(bars || data.names ? { range: (_self: uPlot, low: number, high: number) => [low - pad(data.x), high + pad(data.x)] as [number, number] } : {}) }, y: { range: bars ? (_self, low, high) => [Math.min(0, low * 1.06), Math.max(0, high * 1.06) || (low < 0 ? 0 : 1)] : undefined } },
        axes: [
          { ...axis, ...(data.names ? { values: (_self: uPlot, ticks: number[]) => ticks.map((tick) => (Number.isInteger(tick) ? clip(data.names![tick] ?? '') : '')), incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000], space: 70 } : {}) },
          { ...axis, size: 62 },
        ],
        series: [
          {},
          {
            stroke: color('--accent'),
            width: kind === 'line' ? 2 : 1,
            fill: bars ? `${color('--accent')}b0` : undefined,
            paths: bars ? uPlot.paths.bars!({ size: [0.8, 80] }) : kind === 'scatter' ? () => null : undefined,
            points: { show: kind === 'scatter' || (kind === 'line' && data.x.length < 60), size: 5, fill: color('--accent') },
          },
        ],
        cursor: { y: false },
      },
      [data.x, data.y],
      element,
    );
    const watcher = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: element.clientHeight }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [kind, data, dark]);
  return <div className="chart-plot" ref={holder} role="img" aria-label={`${label}, ${data.x.length} values`} />;
}

function pad(x: number[]): number {
  if (x.length < 2) return 1;
  return Math.max((x[x.length - 1]! - x[0]!) / (x.length - 1), 1e-9) * 0.6;
}

function clip(text: string): string {
  return text.length > 14 ? `${text.slice(0, 13)}…` : text;
}
