import { describe, expect, it } from 'vitest';
import { compare } from '../../worker/stats';
import { better, cases, meanOf, pairs, scoresOf, verdict, type Grid } from './data';

const n = 40;
const two = (of: (run: number, i: number) => unknown) => [...Array.from({ length: n }, (_, i) => of(0, i)), ...Array.from({ length: n }, (_, i) => of(1, i))];
const grid: Grid = {
  count: 2 * n,
  columns: {
    run_id: two((run) => `r${run}`), testcase_id: two((run, i) => (run && i === 0 ? 'only-b' : `case-${i}`)), repeat: two(() => 0), 'preview.inputs': two((_, i) => `input ${i}`),
    'exact.success': two((run, i) => (run ? i % 10 !== 0 : i % 2 === 0)), 'judge.score': two((run, i) => 3 + (i % 3) + (run ? 0 : 0)), 'judge.reason': two(() => 'because'), latency_ms: two((run, i) => 800 + i + (run ? 100 : 0)), cost: two(() => 0.001),
  },
  schemas: { 'judge.score': { type: 'number', 'x-better': 'higher' } },
};

describe('a comparison of runs', () => {
  it('takes the cases that both have', () => {
    const { common, only, scores } = pairs(grid, 'r0', 'r1');
    expect(common).toHaveLength(n - 1);
    expect(only).toBe(2);
    expect(scores.map((s) => [s.name, s.boolean, s.higher])).toEqual([['exact.success', true, true], ['judge.score', false, true], ['latency_ms', false, false], ['cost', false, false]]);
  });
  it('says what got better and worse, and no more than it knows', () => {
    const { scores } = pairs(grid, 'r0', 'r1');
    const found = compare(scores);
    expect(found.map((c, i) => verdict(c, scores[i]!.higher))).toEqual(['better', 'same', 'worse', 'same']);
    expect(verdict(found[2]!, null)).toBe('different');
  });
  it('averages repeats', () => {
    const repeated: Grid = { count: 3, columns: { run_id: ['a', 'a', 'b'], testcase_id: ['x', 'x', 'x'], 's.v': [1, 0, null] } };
    const one = cases(repeated).get('x')!;
    expect(meanOf(repeated.columns['s.v'], one.rows['a'])).toBe(0.5);
    expect(meanOf(repeated.columns['s.v'], one.rows['b'])).toBeNull();
    expect(scoresOf(grid)).toEqual(['exact.success', 'judge.score']);
    expect(better(grid, 'judge.reason')).toBeNull();
  });
});
