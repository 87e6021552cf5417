// A time is a BigInt of nanoseconds since 1970 in UTC: a number holds a time of
// today to 256 ns only, and spans of one trace are often closer than that.

export type Nanos = bigint;

export const MICRO = 1_000n;
export const MILLI = 1_000_000n;
export const SECOND = 1_000_000_000n;
export const MINUTE = 60n * SECOND;
export const HOUR = 60n * MINUTE;
export const DAY = 24n * HOUR;

/** A range of time: one that moves with the clock, or one that stays. */
export type Range = { last: string } | { from: Nanos; to: Nanos };

export const PRESETS = ['15m', '1h', '6h', '24h', '7d', '30d'] as const;

const UNITS: Record<string, Nanos> = { s: SECOND, m: MINUTE, h: HOUR, d: DAY, w: 7n * DAY };

/** parseSpan reads 15m, 24h, 7d; undefined where the text is none. */
export function parseSpan(text: string): Nanos | undefined {
  const m = /^(\d{1,5})\s*([smhdw])$/.exec(text.trim());
  return m ? BigInt(m[1]!) * UNITS[m[2]!]! : undefined;
}

export function now(): Nanos {
  return BigInt(Date.now()) * MILLI;
}

/** parseRange reads the form of an address: 24h, or from~to. */
export function parseRange(text: string): Range {
  const span = parseSpan(text);
  if (span !== undefined && span > 0n) return { last: text.trim() };
  const [from, to, more] = text.split('~');
  const low = parseIso(from ?? '');
  const high = parseIso(to ?? '');
  if (low === undefined || high === undefined || more !== undefined) throw new Error('a range is 15m, 24h, 7d, or two times with ~ between them');
  if (low >= high) throw new Error('the range ends before it begins');
  return { from: low, to: high };
}

export function printRange(range: Range): string {
  return 'last' in range ? range.last : `${printIso(range.from)}~${printIso(range.to)}`;
}

/** resolve gives the ends of a range at a moment. */
export function resolve(range: Range, at: Nanos): { from: Nanos; to: Nanos } {
  if (!('last' in range)) return range;
  return { from: at - parseSpan(range.last)!, to: at };
}

/** shift moves a range by its own length: -1 is earlier, 1 later. What would end after now ends now. */
export function shift(range: Range, by: -1 | 1, at: Nanos): Range {
  const { from, to } = resolve(range, at);
  const length = to - from;
  const move = BigInt(by) * length;
  if (by === 1 && to + move >= at) return 'last' in range ? range : { from: at - length, to: at };
  return { from: from + move, to: to + move };
}

const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|z|[+-]\d{2}:?\d{2})?)?$/;

/** parseIso reads a time of ISO 8601 to the nanosecond; without a zone it is UTC. */
export function parseIso(text: string): Nanos | undefined {
  const m = ISO.exec(text.trim());
  if (!m) return undefined;
  const [, y, mo, d, h = '0', mi = '0', s = '0', fraction = '', zone = 'Z'] = m;
  const ms = Date.UTC(Number(y), Number(mo) - 1, Number(d), Number(h), Number(mi), Number(s));
  const back = new Date(ms);
  if (back.getUTCMonth() !== Number(mo) - 1 || back.getUTCDate() !== Number(d) || Number(h) > 23 || Number(mi) > 59 || Number(s) > 59) return undefined;
  let at = BigInt(ms) * MILLI + BigInt(fraction.padEnd(9, '0'));
  if (zone !== 'Z' && zone !== 'z') {
    const sign = zone.startsWith('-') ? -1n : 1n;
    at -= sign * (BigInt(zone.slice(1, 3)) * HOUR + BigInt(zone.slice(-2)) * MINUTE);
  }
  return at;
}

/** printIso writes UTC with as many digits as are needed. */
export function printIso(at: Nanos, digits?: number): string {
  const ms = floor(at, MILLI);
  const rest = at - ms * MILLI;
  const iso = new Date(Number(ms)).toISOString();
  const fraction = iso.slice(20, 23) + rest.toString().padStart(6, '0');
  const kept = digits === undefined ? fraction.replace(/0+$/, '') : fraction.slice(0, digits);
  return `${iso.slice(0, 19)}${kept && `.${kept}`}Z`;
}

function floor(a: bigint, b: bigint): bigint {
  const q = a / b;
  return a % b < 0n ? q - 1n : q;
}

/** toDate cuts a time to the millisecond. */
export function toDate(at: Nanos): Date {
  return new Date(Number(floor(at, MILLI)));
}

// Zones. "local" is the browser's.

export function zoneName(zone: string): string {
  return zone === 'local' ? Intl.DateTimeFormat().resolvedOptions().timeZone : zone;
}

export function isZone(zone: string): boolean {
  if (zone === 'local') return true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string): Intl.DateTimeFormat {
  const name = zoneName(zone);
  let f = formats.get(name);
  if (!f) {
    f = new Intl.DateTimeFormat('en-GB', {
      timeZone: name, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit',
      hour: '2-digit', minute: '2-digit', second: '2-digit',
    });
    formats.set(name, f);
  }
  return f;
}

export interface Wall { year: number; month: number; day: number; hour: number; minute: number; second: number; nanos: number }

/** wall gives what a clock on the wall of a zone shows. */
export function wall(at: Nanos, zone: string): Wall {
  const second = floor(at, SECOND);
  const parts: Record<string, number> = {};
  for (const { type, value } of format(zone).formatToParts(new Date(Number(second) * 1000))) parts[type] = Number(value);
  return {
    year: parts['year']!, month: parts['month']!, day: parts['day']!, hour: parts['hour']!,
    minute: parts['minute']!, second: parts['second']!, nanos: Number(at - second * SECOND),
  };
}

/** offset gives the minutes by which a zone is ahead of UTC at a time. */
export function offset(at: Nanos, zone: string): number {
  const w = wall(at, zone);
  const asUtc = Date.UTC(w.year, w.month - 1, w.day, w.hour, w.minute, w.second);
  return Math.round((asUtc - Number(floor(at, SECOND)) * 1000) / 60_000);
}

/** zoneLabel names a zone for the bar: UTC+1 Berlin. */
export function zoneLabel(zone: string, at: Nanos): string {
  const name = zoneName(zone);
  if (name === 'UTC' || name === 'Etc/UTC') return 'UTC';
  const minutes = offset(at, zone);
  const hours = Math.trunc(Math.abs(minutes) / 60);
  const rest = Math.abs(minutes) % 60;
  const sign = minutes < 0 ? '−' : '+';
  const city = name.split('/').at(-1)!.replaceAll('_', ' ');
  return `UTC${minutes === 0 ? '' : `${sign}${hours}${rest ? `:${String(rest).padStart(2, '0')}` : ''}`} ${city}`;
}

/**
 * fromWall gives the time at which a zone's clock shows this. Of an hour that
 * comes twice it is the first; one that is left out is read as if the clock had
 * not yet gone forward.
 */
export function fromWall(w: Wall, zone: string): Nanos {
  const asUtc = BigInt(Date.UTC(w.year, w.month - 1, w.day, w.hour, w.minute, w.second)) * MILLI;
  const before = BigInt(offset(asUtc - DAY, zone)) * MINUTE;
  const after = BigInt(offset(asUtc + DAY, zone)) * MINUTE;
  const early = asUtc - (before > after ? before : after);
  const late = asUtc - (before > after ? after : before);
  for (const at of [early, late]) if (BigInt(offset(at, zone)) * MINUTE === asUtc - at) return at + BigInt(w.nanos);
  return asUtc - before + BigInt(w.nanos);
}

const two = (n: number) => String(n).padStart(2, '0');

export type Precision = 'day' | 'minute' | 'second' | 'milli' | 'nano';

/** showTime writes a time for people: 2026-11-28 23:50:34.414. */
export function showTime(at: Nanos, zone: string, precision: Precision = 'milli'): string {
  const w = wall(at, zone);
  const day = `${w.year}-${two(w.month)}-${two(w.day)}`;
  return precision === 'day' ? day : `${day} ${showClock(at, zone, precision)}`;
}

/** showClock is showTime without the day. */
export function showClock(at: Nanos, zone: string, precision: Precision = 'milli'): string {
  const w = wall(at, zone);
  const fraction = String(w.nanos).padStart(9, '0');
  const minute = `${two(w.hour)}:${two(w.minute)}`;
  if (precision === 'minute') return minute;
  if (precision === 'second') return `${minute}:${two(w.second)}`;
  return `${minute}:${two(w.second)}.${precision === 'nano' ? fraction : fraction.slice(0, 3)}`;
}

/** showAgo says how long ago a time was, in words. */
export function showAgo(at: Nanos, current: Nanos): string {
  const d = current - at;
  const abs = d < 0n ? -d : d;
  const text = abs < SECOND ? 'less than a second' : largest(abs);
  return d < 0n ? `in ${text}` : `${text} ago`;
}

function largest(length: Nanos): string {
  const steps: [Nanos, string][] = [[DAY, 'day'], [HOUR, 'hour'], [MINUTE, 'minute'], [SECOND, 'second']];
  for (const [unit, name] of steps) {
    if (length >= unit) {
      const n = length / unit;
      return `${n} ${name}${n === 1n ? '' : 's'}`;
    }
  }
  return '0 seconds';
}

/** showRange names a range for the bar: Last 24 h, or both ends, the day of the second only where it differs. */
export function showRange(range: Range, zone: string): string {
  if ('last' in range) {
    const m = /^(\d+)([smhdw])$/.exec(range.last)!;
    const words: Record<string, string> = { s: 's', m: 'min', h: 'h', d: 'days', w: 'weeks' };
    return `Last ${m[1]} ${m[1] === '1' && m[2] === 'd' ? 'day' : words[m[2]!]}`;
  }
  const from = showTime(range.from, zone, 'minute');
  const to = showTime(range.to, zone, 'minute');
  return `${from} – ${from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to}`;
}

/** parseTime reads what people type: now, -90m, 2026-11-28 14:00 in the zone, ISO with its own zone, or an epoch of 10, 13, 16 or 19 digits. */
export function parseTime(text: string, zone: string, at: Nanos): Nanos | undefined {
  const t = text.trim();
  if (t === 'now') return at;
  const ago = /^-\s*(\d+\s*[smhdw])$/.exec(t);
  if (ago) return at - parseSpan(ago[1]!)!;
  if (/^\d+$/.test(t)) {
    const scale: Record<number, Nanos> = { 10: SECOND, 13: MILLI, 16: MICRO, 19: 1n };
    const unit = scale[t.length];
    return unit && BigInt(t) * unit;
  }
  const iso = parseIso(t);
  if (iso === undefined) return undefined;
  if (/(Z|z|[+-]\d{2}:?\d{2})$/.test(t.slice(10))) return iso;
  const ms = Number(floor(iso, MILLI));
  const d = new Date(ms);
  return fromWall({
    year: d.getUTCFullYear(), month: d.getUTCMonth() + 1, day: d.getUTCDate(), hour: d.getUTCHours(),
    minute: d.getUTCMinutes(), second: d.getUTCSeconds(), nanos: Number(iso - floor(iso, SECOND) * SECOND),
  }, zone);
}

/**
 * interval chooses the minutes of one bar of a chart: 60 to 120 bars where the
 * range has as many minutes, so that a range always looks alike.
 */
export function interval(from: Nanos, to: Nanos): number {
  const minutes = Number((to - from) / MINUTE);
  const steps = [1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720, 1440, 2880, 4320, 10080, 20160, 43200];
  return steps.find((step) => minutes / step <= 120) ?? Math.ceil(minutes / 120);
}
