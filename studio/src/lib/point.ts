// A point of a graph's history: the head of a branch, or a commit, a tag or an instant, which do not move.
import { setParams, usePlace } from './router';
import { useMemo } from 'react';

export type Point = { kind: 'branch'; name: string } | { kind: 'snapshot'; id: string };

export const MAIN: Point = { kind: 'branch', name: 'main' };

export function parsePoint(text: string | null): Point {
  if (text?.startsWith('at:')) return { kind: 'snapshot', id: text.slice(3) };
  if (text?.startsWith('branch:')) return { kind: 'branch', name: text.slice(7) };
  return MAIN;
}

export function formatPoint(point: Point): string {
  return point.kind === 'branch' ? `branch:${point.name}` : `at:${point.id}`;
}

export function pointLabel(point: Point): string {
  return point.kind === 'branch' ? point.name : point.id.length === 26 ? point.id.slice(-8) : point.id;
}

/** The members of a request that name the point. */
export function target(point: Point): { branch?: string; snapshot?: string } {
  return point.kind === 'branch' ? { branch: point.name } : { snapshot: point.id };
}

/** The point in the address of the page, which every page shares, and how to choose another. */
export function usePoint(): [Point, (next: Point) => void] {
  const { params } = usePlace();
  const text = params.get('at');
  const point = useMemo(() => parsePoint(text), [text]);
  return [point, (next) => setParams({ at: formatPoint(next) }, { replace: false })];
}
