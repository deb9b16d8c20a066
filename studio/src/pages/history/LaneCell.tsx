// The part of the commit graph beside one commit.
import type { LaneRow } from './lanes';

export const ROW = 52;
const STEP = 16;
const MOST = 8; // lanes that get room; more are drawn on the last one
const MIDDLE = ROW / 2;

const x = (lane: number) => 12 + Math.min(lane, MOST - 1) * STEP;
const colour = (lane: number) => `lane-${lane % 6}`;

export function laneWidth(rows: LaneRow[]): number {
  return x(Math.min(MOST, Math.max(1, ...rows.map((each) => each.width))) - 1) + 12;
}

export function LaneCell({ row, width, merge }: { row: LaneRow; width: number; merge: boolean }) {
  return (
    <svg className="lanes" width={width} height={ROW} aria-hidden="true">
      {row.lines.map(({ from, to, part, lane }, at) => {
        const [top, bottom] = part === 'above' ? [0, MIDDLE] : part === 'below' ? [MIDDLE, ROW] : [0, ROW];
        const bend = (top + bottom) / 2;
        return <path key={at} className={colour(lane)} d={`M ${x(from)} ${top} C ${x(from)} ${bend}, ${x(to)} ${bend}, ${x(to)} ${bottom}`} />;
      })}
      <circle className={`${colour(row.lane)} ${merge ? 'merge' : ''}`} cx={x(row.lane)} cy={MIDDLE} r={5} />
    </svg>
  );
}
