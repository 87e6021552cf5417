import { describe, expect, it } from 'vitest';
import { showBytes, showChange, showCost, showCount, showDuration, showPercent, showScore, showTokens } from './number';

describe('numbers for people', () => {
  it.each<[number | null, string]>([
    [0.00087, '870 ns'], [0.87, '870 µs'], [0.0124, '12.4 µs'], [12.4, '12.4 ms'], [1, '1 ms'], [999.4, '999 ms'], [999.6, '1 s'], [1840, '1.84 s'], [2115, '2.12 s'],
    [59_990, '60 s'], [59_996, '1 m 00 s'], [123_000, '2 m 03 s'], [3_600_000, '1 h 00 m'], [90_000_000, '1 d 01 h'], [0, '0 ms'], [-12.4, '−12.4 ms'], [null, '–'], [Number.NaN, '–'],
  ])('duration of %s ms is %s', (ms, want) => expect(showDuration(ms)).toBe(want));

  it.each<[number | undefined, string]>([
    [0.00093, '$0.00093'], [0.000926, '$0.000926'], [0.0000001234567, '$0.0000001235'], [0.5, '$0.5'], [0.123456, '$0.1235'], [1, '$1.00'], [42.1, '$42.10'], [1234.56, '$1234.6'], [12_345.6, '$12 346'], [0, '$0'], [-0.002, '−$0.002'], [undefined, '–'],
  ])('cost of %s is %s', (n, want) => expect(showCost(n)).toBe(want));

  it.each<[number | null, string]>([[1394, '1 394'], [412, '412'], [9999, '9 999'], [10_000, '10k'], [12_403, '12.4k'], [999_400, '999k'], [999_600, '1M'], [18_200_000, '18.2M'], [0, '0'], [null, '–']])(
    '%s tokens are %s', (n, want) => expect(showTokens(n)).toBe(want));

  it('shows counts, shares, scores, bytes', () => {
    expect(showCount(12_403_111)).toBe('12 403 111');
    expect(showPercent(0.013)).toBe('1.3 %');
    expect(showPercent(1)).toBe('100 %');
    expect(showScore(0.8412)).toBe('0.84');
    expect(showScore(5)).toBe('5');
    expect(showScore(-0.001234)).toBe('−0.0012');
    expect(showBytes(812)).toBe('812 B');
    expect(showBytes(138_240)).toBe('135 KiB');
  });

  it('compares', () => {
    expect(showChange(104, 100)).toEqual({ text: '▲ 4 %', up: true });
    expect(showChange(88, 100)).toEqual({ text: '▼ 12 %', up: false });
    expect(showChange(5000, 100)).toEqual({ text: '▲ × 50', up: true });
    expect(showChange(100.1, 100)).toBeUndefined();
    expect(showChange(1, 0)).toBeUndefined();
    expect(showChange(null, 3)).toBeUndefined();
  });
});
