import { describe, expect, it } from 'vitest';
import { DAY, fromWall, HOUR, interval, MINUTE, offset, parseIso, parseRange, parseTime, printIso, printRange, resolve, SECOND, shift, showAgo, showRange, showTime, wall, zoneLabel } from './time';

const at = parseIso('2026-11-28T22:50:34.414672157Z')!;

describe('ISO times', () => {
  it.each([
    ['2026-11-28T22:50:34.414672157Z', '2026-11-28T22:50:34.414672157Z'],
    ['2026-11-28T23:50:34.4+01:00', '2026-11-28T22:50:34.4Z'],
    ['2026-11-28 14:00', '2026-11-28T14:00:00Z'],
    ['2026-11-28', '2026-11-28T00:00:00Z'],
    ['1969-12-31T23:59:59.999999999Z', '1969-12-31T23:59:59.999999999Z'],
    ['2024-02-29T00:00:00-0330', '2024-02-29T03:30:00Z'],
  ])('%s is %s', (text, want) => expect(printIso(parseIso(text)!)).toBe(want));

  it.each(['2026-02-29', '2026-13-01', '2026-11-28T24:00:00Z', '2026-11-28T10:60', 'today', '', '2026-11-28T10:00:00.1234567890Z'])('%j is none', (text) => {
    expect(parseIso(text)).toBeUndefined();
  });

  it('keeps every nanosecond of 10 000 times', () => {
    let x = 12_345n;
    for (let i = 0; i < 10_000; i++) {
      x = (x * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) & ((1n << 64n) - 1n);
      const t = (x >> 2n) - (1n << 61n);
      expect(parseIso(printIso(t))).toBe(t);
    }
  });
});

describe('ranges', () => {
  it.each(['15m', '24h', '7d', '2026-11-28T00:00:00Z~2026-11-28T12:30:00.5Z'])('%s survives the address', (text) => {
    expect(printRange(parseRange(text))).toBe(text);
  });
  it.each(['', '0h', '24', 'x~y', '2026-11-28~2026-11-27', '2026-11-28~2026-11-29~2026-11-30'])('%j is refused', (text) => {
    expect(() => parseRange(text)).toThrow();
  });
  it('moves by its length and not beyond now', () => {
    expect(resolve({ last: '1h' }, at)).toEqual({ from: at - HOUR, to: at });
    expect(shift({ last: '1h' }, -1, at)).toEqual({ from: at - 2n * HOUR, to: at - HOUR });
    expect(shift({ last: '1h' }, 1, at)).toEqual({ last: '1h' });
    expect(shift({ from: at - 3n * HOUR, to: at - 2n * HOUR }, 1, at)).toEqual({ from: at - 2n * HOUR, to: at - HOUR });
    expect(shift({ from: at - HOUR - MINUTE, to: at - MINUTE }, 1, at)).toEqual({ from: at - HOUR, to: at });
  });
  it('is named', () => {
    expect(showRange({ last: '24h' }, 'UTC')).toBe('Last 24 h');
    expect(showRange(parseRange('2026-11-28T00:00:00Z~2026-11-28T12:30:00Z'), 'Europe/Berlin')).toBe('2026-11-28 01:00 – 13:30');
    expect(showRange(parseRange('2026-11-28T00:00:00Z~2026-11-29T12:30:00Z'), 'UTC')).toBe('2026-11-28 00:00 – 2026-11-29 12:30');
  });
  it('has 60 to 120 bars, where there are as many minutes', () => {
    for (const text of ['1h', '6h', '24h', '7d', '30d', '90d', '365d']) {
      const { from, to } = resolve(parseRange(text), at);
      const bars = Number((to - from) / MINUTE) / interval(from, to);
      expect(bars, text).toBeGreaterThanOrEqual(45);
      expect(bars, text).toBeLessThanOrEqual(120);
    }
    expect(interval(at - 15n * MINUTE, at)).toBe(1);
  });
});

describe('zones', () => {
  it('shows one time in each', () => {
    expect(showTime(at, 'UTC')).toBe('2026-11-28 22:50:34.414');
    expect(showTime(at, 'Europe/Berlin')).toBe('2026-11-28 23:50:34.414');
    expect(showTime(at, 'Asia/Kathmandu', 'nano')).toBe('2026-11-29 04:35:34.414672157');
    expect(showTime(parseIso('1969-12-31T23:59:59.5Z')!, 'UTC')).toBe('1969-12-31 23:59:59.500');
  });
  it('is named with its offset', () => {
    expect(zoneLabel('UTC', at)).toBe('UTC');
    expect(zoneLabel('Europe/Berlin', at)).toBe('UTC+1 Berlin');
    expect(zoneLabel('Asia/Kathmandu', at)).toBe('UTC+5:45 Kathmandu');
    expect(zoneLabel('America/New_York', at)).toBe('UTC−5 New York');
    expect(offset(parseIso('2026-07-01')!, 'Europe/Berlin')).toBe(120);
  });

  it.each(['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'UTC', 'America/Sao_Paulo', 'Africa/Casablanca'])('%s goes there and back through a year', (zone) => {
    let seen = 0;
    for (let t = parseIso('2026-01-01')!; t < parseIso('2027-01-01')!; t += HOUR * 3n + 17n * MINUTE) {
      const back = fromWall(wall(t, zone), zone);
      // An hour that comes twice is read as the first one.
      if (back !== t) {
        expect(showTime(back, zone)).toBe(showTime(t, zone));
        expect(back).toBeLessThan(t);
        expect(t - back).toBeLessThanOrEqual(HOUR);
      }
      seen++;
    }
    expect(seen).toBeGreaterThan(2000);
  });
  it('reads the hour that is left out and the one that comes twice', () => {
    const berlin = (text: string) => printIso(parseTime(text, 'Europe/Berlin', at)!);
    expect(berlin('2026-03-29 01:59')).toBe('2026-03-29T00:59:00Z');
    expect(berlin('2026-03-29 02:30')).toBe('2026-03-29T01:30:00Z');
    expect(berlin('2026-03-29 03:00')).toBe('2026-03-29T01:00:00Z');
    expect(berlin('2026-10-25 02:30')).toBe('2026-10-25T00:30:00Z');
    expect(berlin('2026-10-25 03:00')).toBe('2026-10-25T02:00:00Z');
  });
});

describe('what people type', () => {
  it.each<[string, bigint | undefined]>([
    ['now', at],
    ['-90m', at - 90n * MINUTE],
    ['-7d', at - 7n * DAY],
    ['2026-11-28 14:00', parseIso('2026-11-28T13:00:00Z')],
    ['2026-11-28T14:00:00Z', parseIso('2026-11-28T14:00:00Z')],
    ['1764340000', 1_764_340_000n * SECOND],
    ['1764340000123', 1_764_340_000_123_000_000n],
    ['1764340000123456789', 1_764_340_000_123_456_789n],
    ['17643', undefined],
    ['yesterday', undefined],
  ])('%s', (text, want) => expect(parseTime(text, 'Europe/Berlin', at)).toBe(want));
  it('says how long ago', () => {
    expect(showAgo(at - 90n * MINUTE, at)).toBe('1 hour ago');
    expect(showAgo(at - 2n * DAY, at)).toBe('2 days ago');
    expect(showAgo(at + 5n * SECOND, at)).toBe('in 5 seconds');
    expect(showAgo(at - 5n, at)).toBe('less than a second ago');
  });
});
