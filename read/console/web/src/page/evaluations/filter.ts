// Filters the cases of a run in the query language: inputs, outputs, expected,
// latency, cost, status, score.<name> and words that occur anywhere.

import { find, isGroup, isText, parse, type Condition, type Query } from '../../url/query';

/** Value is a column's value in one case; a list where a case has several, of which one must match. */
export type Read = (field: string) => unknown;

const NAMES = ['inputs', 'outputs', 'expected', 'latency', 'label'];

export type Compiled = { ok: true; test: (read: Read) => boolean } | { ok: false; message: string };

/** compile reads a filter of cases. Names of this page are written as attributes, which the language knows. */
export function compile(text: string): Compiled {
  const plain = text.replaceAll(new RegExp(`(^|[\\s(-])(${NAMES.join('|')})(?=[:=!<>~^$.])`, 'g'), '$1case.$2');
  const parsed = parse(plain);
  if (!parsed.ok) return { ok: false, message: parsed.error.message };
  const { query } = parsed;
  return { ok: true, test: query === null ? () => true : (read) => holds(query, read) };
}

function holds(query: Query, read: Read): boolean {
  if (isGroup(query)) {
    const each = (c: Query) => holds(c, read);
    switch (query.operator) {
      case 'or': return query.conditions.some(each);
      case 'not': case 'nand': return !query.conditions.every(each);
      case 'nor': return !query.conditions.some(each);
      default: return query.conditions.every(each);
    }
  }
  // A phrase keeps its quotes within the value.
  if (isText(query)) return contains(read('*'), String(query.value).replace(/^"([^]*)"$/, '$1'));
  return condition(query, read(nameOf(query)));
}

/** nameOf returns the name of a column as the page calls it. */
function nameOf(c: Condition): string {
  if (c.field === 'status_code') return 'status';
  const key = c.key ?? c.field;
  if (key === find('cost')?.key) return 'cost';
  if (key === find('duration')?.key || key === 'case.latency') return 'latency';
  return key.startsWith('case.') ? key.slice(5) : key;
}

const DURATION = /^(-?\d+(?:\.\d+)?)(us|µs|ms|s|m)$/;
const UNITS: Record<string, number> = { us: 1e-3, 'µs': 1e-3, ms: 1, s: 1000, m: 60_000 };

function number(v: unknown): number | null {
  if (typeof v === 'number') return v;
  if (typeof v === 'boolean') return Number(v);
  if (typeof v !== 'string' || v === '') return null;
  const unit = DURATION.exec(v);
  if (unit) return Number(unit[1]) * UNITS[unit[2]!]!;
  const n = Number(v);
  return Number.isNaN(n) ? null : n;
}

const contains = (v: unknown, part: string) => text(v).toLowerCase().includes(part.toLowerCase());
const text = (v: unknown) => (v === null || v === undefined ? '' : typeof v === 'object' ? JSON.stringify(v) : String(v));

function same(is: unknown, wanted: unknown): boolean {
  if (is === null || is === undefined) return wanted === null;
  const a = number(is);
  const b = number(wanted);
  if (a !== null && b !== null) return a === b;
  return text(is).toLowerCase() === text(wanted).replace(/^STATUS_CODE_/, '').toLowerCase();
}

function condition(c: Condition, is: unknown): boolean {
  const less = (compare: (a: number, b: number) => boolean) => {
    const a = number(is);
    const b = number(c.value);
    return a !== null && b !== null && compare(a, b);
  };
  switch (c.operator) {
    case 'is': case 'eq': return same(is, c.value);
    case 'is_not': case 'neq': return !same(is, c.value);
    case 'gt': return less((a, b) => a > b);
    case 'gte': return less((a, b) => a >= b);
    case 'lt': return less((a, b) => a < b);
    case 'lte': return less((a, b) => a <= b);
    case 'btwn': {
      const [low, high] = Array.isArray(c.value) ? c.value : [];
      const a = number(is);
      return a !== null && a >= (number(low) ?? Number.NaN) && a <= (number(high) ?? Number.NaN);
    }
    case 'in': return Array.isArray(c.value) && c.value.some((v) => same(is, v));
    case 'not_in': return Array.isArray(c.value) && !c.value.some((v) => same(is, v));
    case 'exists': return is !== null && is !== undefined;
    case 'not_exists': return is === null || is === undefined;
    case 'startswith': return text(is).toLowerCase().startsWith(text(c.value).toLowerCase());
    case 'endswith': return text(is).toLowerCase().endsWith(text(c.value).toLowerCase());
    case 'contains': case 'has': return contains(is, text(c.value));
    case 'has_not': return !contains(is, text(c.value));
    case 'matches': return pattern(text(c.value))?.test(text(is)) ?? false;
    case 'like': return new RegExp(`^${text(c.value).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('%', '.*').replaceAll('_', '.')}$`, 'is').test(text(is));
  }
}

function pattern(source: string): RegExp | null {
  try {
    return new RegExp(source, 'i');
  } catch {
    return null; // an expression that cannot be read matches nothing
  }
}
