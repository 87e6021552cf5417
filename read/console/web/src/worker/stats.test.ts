import { describe, expect, it } from 'vitest';
import { bootstrapMeans, compare, holm, kappa, mcnemar, mean, percentile, random, signFlips, spearman } from './stats';

describe('published values', () => {
  it('McNemar: M. Fay, Two-sided exact tests and matching confidence intervals for discrete data (R Journal 2/1, 2010; exact2x2)', () => {
    expect(mcnemar(2, 9)).toBeCloseTo(0.06543, 5);
    expect(mcnemar(9, 2)).toBeCloseTo(0.06543, 5);
  });
  it('McNemar: by the definition, from 0.5 ** n', () => {
    expect(mcnemar(0, 0)).toBe(1);
    expect(mcnemar(5, 5)).toBe(1);
    expect(mcnemar(0, 5)).toBeCloseTo(2 / 32, 12);
    expect(mcnemar(2, 10)).toBeCloseTo(158 / 4096, 12);
    // Large numbers agree with the normal distribution: z = (1100 - 1000 - 1) / sqrt(2100) = 2.160, p = 0.0307.
    expect(mcnemar(1000, 1100)).toBeCloseTo(0.0307, 3);
    expect(mcnemar(1, 5000)).toBeGreaterThanOrEqual(0);
  });
  it("sign flips: Darwin's maize in R. A. Fisher, The Design of Experiments (1935), section 21: 1 726 of 32 768", () => {
    const inches = Float64Array.from([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]);
    expect(signFlips(inches)).toBeCloseTo(1726 / 32_768, 12);
    expect(signFlips(inches.map((d) => d / 8))).toBeCloseTo(1726 / 32_768, 12);
    // The same by draws: 17 pairs with two that change nothing.
    expect(Math.abs(signFlips(Float64Array.from([...inches, 0, 0]), 20_000) - 0.05267)).toBeLessThan(0.006);
  });
  it('bootstrap: survival of mice in B. Efron and R. Tibshirani, An Introduction to the Bootstrap (1993), table 2.2: 23.36', () => {
    const means = bootstrapMeans(Float64Array.from([94, 197, 16, 38, 99, 141, 23]), 20_000);
    const middle = mean(means);
    const deviation = Math.sqrt(mean(means.map((m) => (m - middle) ** 2)));
    expect(Math.abs(middle - 86.86)).toBeLessThan(0.6);
    expect(Math.abs(deviation - 23.36)).toBeLessThan(0.4);
  });
  it('percentiles: type 7, as quantile(c(1, 2, 3, 4, 10)) of R', () => {
    expect([0, 0.25, 0.5, 0.75, 1].map((q) => percentile([1, 2, 3, 4, 10], q))).toEqual([1, 2, 3, 4, 10]);
    expect(percentile([1, 2], 0.025)).toBeCloseTo(1.025, 12);
  });
  it('Holm: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") of R', () => {
    expect(holm([0.01, 0.04, 0.03, 0.005]).map((p) => Number(p!.toFixed(6)))).toEqual([0.03, 0.06, 0.06, 0.02]);
    expect(holm([0.6, null, 0.7])).toEqual([1, null, 1]);
    expect(holm([])).toEqual([]);
  });
  it('kappa: 20, 5, 10, 15 of 50 agree by 0.4', () => {
    const pairs = [...Array<[string, string]>(20).fill(['y', 'y']), ...Array<[string, string]>(5).fill(['y', 'n']), ...Array<[string, string]>(10).fill(['n', 'y']), ...Array<[string, string]>(15).fill(['n', 'n'])];
    expect(kappa(pairs.map((p) => p[0]), pairs.map((p) => p[1]))).toBeCloseTo(0.4, 12);
    expect(kappa(['a', 'a'], ['a', 'a'])).toBeNull();
  });
  it('Spearman: -29/165 of ten people', () => {
    const iq = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110];
    const hours = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17];
    expect(spearman(iq, hours)).toBeCloseTo(-29 / 165, 12);
    expect(spearman([1, 2, 3], [5, 5, 5])).toBeNull();
    expect(spearman([1, 2, 2, 3], [1, 2, 2, 3])).toBeCloseTo(1, 12);
  });
});

describe('comparison', () => {
  const next = random(3);
  const base = Array.from({ length: 500 }, () => Math.round(next() * 4) + 1);
  const other = base.map((v, i) => (i % 5 === 0 ? Math.min(5, v + 1) : i % 11 === 0 ? Math.max(1, v - 1) : v));

  it('says the same each time, and something else for another seed only in the last digits', () => {
    const scores = [{ name: 'judge', boolean: false, higher: true, base, other }];
    expect(compare(scores)).toEqual(compare(scores));
    const [a] = compare(scores, 1);
    const [b] = compare(scores, 2);
    expect(a!.delta).toBe(b!.delta);
    expect(Math.abs(a!.low! - b!.low!)).toBeLessThan(0.02);
    expect(a!.low!).toBeLessThan(a!.delta!);
    expect(a!.high!).toBeGreaterThan(a!.delta!);
    expect(a!.up + a!.down + a!.same).toBe(a!.n);
  });
  it('takes the cases that both runs have', () => {
    const [c] = compare([{ name: 'x', boolean: true, higher: true, base: [...Array<number>(9).fill(0), null, 1, 1], other: [...Array<number>(9).fill(1), 1, null, Number.NaN] }]);
    expect(c).toMatchObject({ n: 9, p: null, delta: 1, note: '9 pairs are too few to tell a difference from chance' });
    expect(compare([{ name: 'x', boolean: true, higher: true, base: [null], other: [1] }])[0]).toMatchObject({ n: 0, delta: null, note: 'no case has this score in both runs' });
  });
  it('tests booleans by McNemar, and shares of repeats by sign flips', () => {
    const zeros = Array<number>(20).fill(0);
    const some = zeros.map((_, i) => (i < 8 ? 1 : 0));
    const [exact, shares] = compare([
      { name: 'b', boolean: true, higher: true, base: zeros, other: some },
      { name: 's', boolean: true, higher: true, base: zeros, other: some.map((v) => v / 2) },
    ]);
    expect(exact!.p).toBeCloseTo(2 / 256, 12);
    expect(shares!.p!).toBeGreaterThan(0);
    expect(exact!.adjusted!).toBeGreaterThanOrEqual(exact!.p!);
  });
  it('finds no difference in what is the same, and about 5 % where there is none', () => {
    const [none] = compare([{ name: 'x', boolean: false, higher: null, base, other: base }]);
    expect(none).toMatchObject({ delta: 0, p: 1, low: 0, high: 0 });
    const draw = random(11);
    let found = 0;
    for (let i = 0; i < 400; i++) if (signFlips(Float64Array.from({ length: 12 }, () => draw() - 0.5)) < 0.05) found++;
    expect(found).toBeGreaterThan(6);
    expect(found).toBeLessThan(36);
  });
  it('takes 10 000 pairs', () => {
    const many = Array.from({ length: 10_000 }, () => next());
    const before = performance.now();
    compare([{ name: 'x', boolean: false, higher: true, base: many, other: many.map((v) => v + 0.01 * (next() - 0.4)) }]);
    expect(performance.now() - before).toBeLessThan(5000);
  });
});
