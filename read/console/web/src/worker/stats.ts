// Statistics of paired comparisons and of agreement. All that is random is
// seeded: a page that is opened again says the same. Runs in a worker.

/** random gives numbers from 0 to 1, always the same for a seed (mulberry32). */
export function random(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

export const RESAMPLES = 2000;

/** bootstrapMeans draws resamples of the values with replacement and gives their means, in order. */
export function bootstrapMeans(values: Float64Array, resamples = RESAMPLES, seed = 1): Float64Array {
  const next = random(seed);
  const n = values.length;
  const means = new Float64Array(resamples);
  for (let r = 0; r < resamples; r++) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += values[Math.floor(next() * n)]!;
    means[r] = sum / n;
  }
  return means.sort();
}

/** percentile interpolates in sorted values (type 7 of Hyndman and Fan, as R and NumPy do by default). */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const at = (sorted.length - 1) * share;
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low]! + (sorted[high]! - sorted[low]!) * (at - low);
}

const EXACT_PAIRS = 16;

/**
 * signFlips is Fisher's randomisation test of paired differences, two-sided:
 * how often a mean at least as far from 0 comes out when each difference has
 * the other sign as likely. Exact up to 16 pairs, by 2 000 draws beyond.
 */
export function signFlips(differences: Float64Array, draws = RESAMPLES, seed = 1): number {
  const n = differences.length;
  let observed = 0;
  let scale = 0;
  for (const d of differences) {
    observed += d;
    scale += Math.abs(d);
  }
  // Sums of the same numbers in another order differ in their last bits.
  const least = Math.abs(observed) - scale * 1e-12;
  if (n <= EXACT_PAIRS) {
    let extreme = 0;
    const all = 2 ** n;
    for (let signs = 0; signs < all; signs++) {
      let sum = 0;
      for (let i = 0; i < n; i++) sum += (signs >>> i) & 1 ? differences[i]! : -differences[i]!;
      if (Math.abs(sum) >= least) extreme++;
    }
    return extreme / all;
  }
  const next = random(seed);
  let extreme = 0;
  for (let draw = 0; draw < draws; draw++) {
    let sum = 0;
    for (let i = 0; i < n; i += 30) {
      let bits = Math.floor(next() * 2 ** 30);
      for (let j = i; j < Math.min(i + 30, n); j++) {
        sum += bits & 1 ? differences[j]! : -differences[j]!;
        bits >>>= 1;
      }
    }
    if (Math.abs(sum) >= least) extreme++;
  }
  // The observed signs are one of the draws, so that p is never 0.
  return (extreme + 1) / (draws + 1);
}

/** mcnemar is the exact test of two proportions of the same cases, two-sided; it takes the numbers of cases that went one way and the other. */
export function mcnemar(b: number, c: number): number {
  const n = b + c;
  if (n === 0) return 1;
  const few = Math.min(b, c);
  // Terms as logarithms: 0.5 ** 2000 is 0.
  let log = -n * Math.LN2;
  let sum = Math.exp(log);
  for (let k = 1; k <= few; k++) {
    log += Math.log((n - k + 1) / k);
    sum += Math.exp(log);
  }
  return Math.min(1, 2 * sum);
}

/** holm corrects p values of several tests, in their order; null stays null and does not count. */
export function holm(ps: readonly (number | null)[]): (number | null)[] {
  const order = ps.map((p, i) => ({ p, i })).filter((x): x is { p: number; i: number } => x.p !== null).toSorted((a, b) => a.p - b.p);
  const out: (number | null)[] = ps.map(() => null);
  let most = 0;
  order.forEach(({ p, i }, rank) => {
    most = Math.max(most, Math.min(1, p * (order.length - rank)));
    out[i] = most;
  });
  return out;
}

/** kappa is Cohen's agreement of two raters beyond chance, over labels; null where chance alone agrees always. */
export function kappa(a: readonly string[], b: readonly string[]): number | null {
  const n = a.length;
  const left = new Map<string, number>();
  const right = new Map<string, number>();
  let same = 0;
  for (let i = 0; i < n; i++) {
    if (a[i] === b[i]) same++;
    left.set(a[i]!, (left.get(a[i]!) ?? 0) + 1);
    right.set(b[i]!, (right.get(b[i]!) ?? 0) + 1);
  }
  let chance = 0;
  for (const [label, count] of left) chance += (count / n) * ((right.get(label) ?? 0) / n);
  if (n === 0 || chance === 1) return null;
  return (same / n - chance) / (1 - chance);
}

/** spearman is the correlation of ranks; equal values share their mean rank. Null where one side never varies. */
export function spearman(a: readonly number[], b: readonly number[]): number | null {
  const x = ranks(a);
  const y = ranks(b);
  const mx = mean(x);
  const my = mean(y);
  let xy = 0;
  let xx = 0;
  let yy = 0;
  for (let i = 0; i < x.length; i++) {
    xy += (x[i]! - mx) * (y[i]! - my);
    xx += (x[i]! - mx) ** 2;
    yy += (y[i]! - my) ** 2;
  }
  return xx === 0 || yy === 0 ? null : xy / Math.sqrt(xx * yy);
}

export function ranks(values: readonly number[]): number[] {
  const order = values.map((_, i) => i).toSorted((a, b) => values[a]! - values[b]!);
  const out: number[] = Array.from({ length: values.length }, () => 0);
  for (let from = 0; from < order.length;) {
    let to = from;
    while (to + 1 < order.length && values[order[to + 1]!] === values[order[from]!]) to++;
    for (let k = from; k <= to; k++) out[order[k]!] = (from + to) / 2 + 1;
    from = to + 1;
  }
  return out;
}

/** One score of two runs, by the cases that both have. Repeats of a case are averaged before. */
export interface Paired {
  name: string;
  boolean: boolean;
  /** Whether more is better; null where nobody said. */
  higher: boolean | null;
  base: readonly (number | null)[];
  other: readonly (number | null)[];
}

export interface Compared {
  name: string;
  /** Cases in which both runs have the score. */
  n: number;
  base: number | null;
  other: number | null;
  delta: number | null;
  /** 95 % of the bootstrapped means of the differences lie between these. */
  low: number | null;
  high: number | null;
  p: number | null;
  /** p after Holm's correction over all scores that are compared. */
  adjusted: number | null;
  up: number;
  down: number;
  same: number;
  /** Why there is no p. */
  note: string | null;
}

export const LEAST_PAIRS = 10;

export function compare(scores: readonly Paired[], seed = 1): Compared[] {
  const all = scores.map((score) => one(score, seed));
  const adjusted = holm(all.map((c) => c.p));
  return all.map((c, i) => ({ ...c, adjusted: adjusted[i] ?? null }));
}

function one({ name, boolean, base, other }: Paired, seed: number): Compared {
  const differences: number[] = [];
  let sumBase = 0;
  let sumOther = 0;
  let up = 0;
  let down = 0;
  let whole = true;
  for (let i = 0; i < Math.min(base.length, other.length); i++) {
    const a = base[i];
    const b = other[i];
    if (a === null || a === undefined || b === null || b === undefined || Number.isNaN(a) || Number.isNaN(b)) continue;
    sumBase += a;
    sumOther += b;
    differences.push(b - a);
    if (b > a) up++;
    else if (b < a) down++;
    whole &&= (a === 0 || a === 1) && (b === 0 || b === 1);
  }
  const n = differences.length;
  const result: Compared = {
    name, n, base: n ? sumBase / n : null, other: n ? sumOther / n : null, delta: n ? (sumOther - sumBase) / n : null,
    low: null, high: null, p: null, adjusted: null, up, down, same: n - up - down, note: null,
  };
  if (n < LEAST_PAIRS) return { ...result, note: n === 0 ? 'no case has this score in both runs' : `${n} pairs are too few to tell a difference from chance` };
  const values = Float64Array.from(differences);
  const means = bootstrapMeans(values, RESAMPLES, seed);
  // Repeats make shares of booleans: McNemar's test is of single answers.
  const p = boolean && whole ? mcnemar(up, down) : signFlips(values, RESAMPLES, seed);
  return { ...result, low: percentile(means, 0.025), high: percentile(means, 0.975), p };
}
