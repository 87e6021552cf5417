// How values are written within a query.

import type { ValueKind } from './field';
import type { Json } from './tree';

const DURATIONS: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const COUNTS: Record<string, number> = { k: 1e3, M: 1e6, G: 1e9 };
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** readWord gives the value of a word that stands without quotes. */
export function readWord(word: string, kind: ValueKind): Json {
  if (word === 'null') return null;
  switch (kind) {
    case 'text':
      return word;
    case 'status':
      return /^(error|ok|unset)$/i.test(word) ? `STATUS_CODE_${word.toUpperCase()}` : word;
    case 'kind':
      return /^(internal|server|client|producer|consumer|unspecified)$/i.test(word) ? `SPAN_KIND_${word.toUpperCase()}` : word;
    case 'time':
      return /^\d+$/.test(word) && Number.isSafeInteger(Number(word)) ? Number(word) : word;
    default:
      return scalar(word, kind);
  }
}

function scalar(word: string, kind: ValueKind): Json {
  if (word === 'true') return true;
  if (word === 'false') return false;
  if (NUMBER.test(word) && Number.isFinite(Number(word))) return Number(word) + 0;
  const m = /^(-?\d+(?:\.\d+)?)(\p{L}+)$/u.exec(word);
  if (m) {
    const unit = (kind === 'duration' ? DURATIONS : kind === 'number' ? COUNTS : undefined)?.[m[2]!];
    if (unit !== undefined) return exact(Number(m[1]), unit);
  }
  return word;
}

// 1.1 s are 1100 ms, not 1100.0000000000001.
function exact(n: number, unit: number): number {
  return unit < 1 ? n / Math.round(1 / unit) : Number((n * unit).toPrecision(15));
}

/** words gives ways to write a value without quotes, the shortest first; the caller checks that they read back. */
export function words(value: Json, kind: ValueKind): string[] {
  switch (typeof value) {
    case 'string': {
      const short = kind === 'status' ? /^STATUS_CODE_(ERROR|OK|UNSET)$/.exec(value) : kind === 'kind' ? /^SPAN_KIND_(INTERNAL|SERVER|CLIENT|PRODUCER|CONSUMER|UNSPECIFIED)$/.exec(value) : null;
      return short ? [short[1]!.toLowerCase(), value] : [value];
    }
    case 'number':
      return [...(kind === 'duration' ? durations(value) : kind === 'number' ? counts(value) : []), String(value)];
    case 'boolean':
      return [String(value)];
    default:
      return value === null ? ['null'] : [];
  }
}

function durations(ms: number): string[] {
  const abs = Math.abs(ms);
  const unit = abs >= 86_400_000 ? 'd' : abs >= 3_600_000 ? 'h' : abs >= 60_000 ? 'm' : abs >= 1000 ? 's' : abs >= 1 || abs === 0 ? 'ms' : abs >= 1e-3 ? 'us' : 'ns';
  const size = DURATIONS[unit]!;
  const n = size < 1 ? ms * Math.round(1 / size) : ms / size;
  return [`${n}${unit}`].filter((t) => t.length <= 8);
}

function counts(n: number): string[] {
  const abs = Math.abs(n);
  for (const unit of ['G', 'M', 'k']) {
    const size = COUNTS[unit]!;
    if (abs >= 10_000 && abs >= size) return [`${n / size}${unit}`].filter((t) => t.length <= 6);
  }
  return [];
}

/** quote writes a text between quotes. */
export function quote(text: string): string {
  return JSON.stringify(text);
}
