// Numbers, times and ids as people read them.
const NUMBER = new Intl.NumberFormat('en');
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const AGO = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const WHEN = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

export const count = (value: number): string => NUMBER.format(value);
export const compact = (value: number): string => COMPACT.format(value);
export const plural = (value: number, one: string, many = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;
export const shortId = (id: string): string => id.slice(-8).toLowerCase();

/** Microseconds since the epoch, as a commit has them. */
export function ago(micros: number): string {
  const seconds = (micros / 1e6) - Date.now() / 1000;
  const steps: [number, Intl.RelativeTimeFormatUnit][] = [[60, 'second'], [3600, 'minute'], [86400, 'hour'], [2592000, 'day'], [31536000, 'month']];
  let size = 1;
  for (const [limit, unit] of steps) {
    if (Math.abs(seconds) < limit) return AGO.format(Math.round(seconds / size), unit);
    size = limit;
  }
  return AGO.format(Math.round(seconds / 31536000), 'year');
}

export const when = (micros: number): string => WHEN.format(new Date(micros / 1000));

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let at = 0;
  while (value >= 1000 && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${value >= 100 || at === 0 ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
}

export function elapsed(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

/** A value of a property or a result cell as one line of text. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (typeof value === 'object') return JSON.stringify(value);
  return String(value);
}
