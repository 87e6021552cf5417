// Numbers for people. What is absent is a dash and never 0.

export const ABSENT = '–';

const THIN = ' ';

type Maybe = number | null | undefined;

function there(n: Maybe): n is number {
  return n !== null && n !== undefined && !Number.isNaN(n);
}

/** showCount groups digits: 12 403. */
export function showCount(n: Maybe): string {
  if (!there(n)) return ABSENT;
  return Math.round(n).toString().replaceAll(/\B(?=(\d{3})+$)/g, THIN);
}

/** showTokens is exact up to 10 000, then 12.4k and 18.2M. */
export function showTokens(n: Maybe): string {
  if (!there(n)) return ABSENT;
  if (n < 10_000) return showCount(n);
  return short(n);
}

function short(n: number): string {
  for (const [size, unit] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']] as const) {
    // 999 500 rounds to 1000k, which is 1M.
    if (n >= size * 0.9995) return `${trim(n / size, n / size >= 99.95 ? 0 : 1)}${unit}`;
  }
  return trim(n, 0);
}

function trim(n: number, digits: number): string {
  return n.toFixed(digits).replace(/\.0+$/, '');
}

/** showCost has four significant digits at most, and never fewer decimals than tell it from 0. */
export function showCost(n: Maybe, unit = '$'): string {
  if (!there(n)) return ABSENT;
  const sign = n < 0 ? '−' : '';
  const abs = Math.abs(n);
  if (abs === 0) return `${unit}0`;
  if (abs >= 10_000) return `${sign}${unit}${showCount(abs)}`;
  if (abs >= 100) return `${sign}${unit}${abs.toFixed(1)}`;
  if (abs >= 1) return `${sign}${unit}${abs.toFixed(2)}`;
  const digits = Math.min(12, 3 - Math.floor(Math.log10(abs)));
  return `${sign}${unit}${abs.toFixed(digits).replace(/0+$/, '')}`;
}

/** showDuration takes milliseconds: 870 µs, 12.4 ms, 1.84 s, 2 m 03 s. */
export function showDuration(ms: Maybe): string {
  if (!there(ms)) return ABSENT;
  const sign = ms < 0 ? '−' : '';
  const abs = Math.abs(ms);
  if (abs === 0) return '0 ms';
  if (abs < 0.001) return `${sign}${Math.round(abs * 1e6)} ns`;
  if (abs < 0.9995) return `${sign}${three(abs * 1000)} µs`;
  if (abs < 999.5) return `${sign}${three(abs)} ms`;
  if (abs < 59_995) return `${sign}${three(abs / 1000)} s`;
  const seconds = Math.round(abs / 1000);
  const two = (n: number) => String(n).padStart(2, '0');
  if (seconds < 3600) return `${sign}${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  if (seconds < 86_400) return `${sign}${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} m`;
  return `${sign}${Math.floor(seconds / 86_400)} d ${two(Math.floor((seconds % 86_400) / 3600))} h`;
}

// three keeps three significant digits, and all digits of whole numbers.
function three(n: number): string {
  if (n >= 99.95) return String(Math.round(n));
  return (n >= 9.995 ? n.toFixed(1) : n.toFixed(2)).replace(/\.?0+$/, '');
}

export function showPercent(share: Maybe, digits = 1): string {
  if (!there(share)) return ABSENT;
  const text = (share * 100).toFixed(digits).replace(/\.0+$/, '');
  return `${text.replace('-', '−')} %`;
}

/** showScore keeps what tells scores apart: 0.84, 4.1, 5. */
export function showScore(n: Maybe): string {
  if (!there(n)) return ABSENT;
  if (Number.isInteger(n)) return String(n).replace('-', '−');
  const abs = Math.abs(n);
  const text = abs >= 100 ? n.toFixed(0) : abs >= 10 ? n.toFixed(1) : abs >= 0.01 ? n.toFixed(2) : n.toPrecision(2);
  return text.replace('-', '−');
}

export function showBytes(n: Maybe): string {
  if (!there(n)) return ABSENT;
  if (n < 1024) return `${n} B`;
  for (const [size, unit] of [[1 << 30, 'GiB'], [1 << 20, 'MiB'], [1 << 10, 'KiB']] as const) {
    if (n >= size) return `${three(n / size)} ${unit}`;
  }
  return `${n} B`;
}

/** showChange compares with what was before: ▲4 %. Undefined where there is nothing to compare. */
export function showChange(is: Maybe, was: Maybe): { text: string; up: boolean } | undefined {
  if (!there(is) || !there(was) || was === 0) return undefined;
  const change = (is - was) / Math.abs(was);
  if (Math.abs(change) < 0.005) return undefined;
  const percent = Math.abs(change) >= 10 ? `× ${(is / was).toFixed(0)}` : `${Math.round(Math.abs(change) * 100)} %`;
  return { text: `${change > 0 ? '▲' : '▼'} ${percent}`, up: change > 0 };
}
