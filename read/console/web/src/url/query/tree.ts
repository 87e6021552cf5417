// The tree of a query: the filter of the API in one normal form, in which every
// default is spelled out or left out the same way. So two equal filters are two
// equal trees, whichever client wrote them.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export const GROUPS = ['and', 'or', 'not', 'nand', 'nor'] as const;
export type GroupOperator = (typeof GROUPS)[number];

export const OPERATORS = [
  'is', 'is_not', 'eq', 'neq', 'gt', 'lt', 'gte', 'lte', 'btwn', 'startswith', 'endswith', 'contains', 'matches', 'like',
  'has', 'has_not', 'in', 'not_in', 'exists', 'not_exists',
] as const;
export type Operator = (typeof OPERATORS)[number];

export const OPTIONS = ['case_sensitive', 'exact_match', 'all'] as const;
export type Option = (typeof OPTIONS)[number];

export interface Group { operator: GroupOperator; conditions: Query[] }

/** A condition has a key only where it is not empty, and a value except with exists and not_exists. */
export interface Condition { field: string; key?: string; operator: Operator; value?: Json; options?: Partial<Record<Option, true>> }

export type Query = Group | Condition;

export function isGroup(query: Query): query is Group {
  return 'conditions' in query;
}

export function condition(field: string, operator: Operator, value?: Json, key?: string, options: readonly Option[] = []): Condition {
  const c: Condition = { field, operator };
  if (key) c.key = key;
  if (operator !== 'exists' && operator !== 'not_exists') c.value = value ?? null;
  if (options.length) c.options = Object.fromEntries(OPTIONS.filter((o) => options.includes(o)).map((o) => [o, true]));
  return c;
}

export function group(operator: GroupOperator, conditions: Query[]): Group {
  return { operator, conditions };
}

/** equal compares two trees, or two values in them. */
export function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length
    && keys.every((k) => Object.hasOwn(b, k) && equal((a as Record<string, unknown>)[k], (b as Record<string, unknown>)[k]));
}

/** What a filter of the API looks like. A group at the top, or nothing. */
export type Filter = Record<string, unknown>;

/** toFilter gives what the API takes. No query is no filter. */
export function toFilter(query: Query | null): Group | undefined {
  if (query === null) return undefined;
  return isGroup(query) ? query : group('and', [query]);
}

/** fromFilter reads a filter that any client wrote. It throws a sentence where the form is wrong. */
export function fromFilter(filter: unknown): Query | null {
  if (filter === null || filter === undefined) return null;
  const query = normal(filter, 'the filter');
  if (!isGroup(query)) return query;
  if (query.operator === 'and' && query.conditions.length <= 1) return query.conditions[0] ?? null;
  return query;
}

/** normal brings a condition or a group of any client into the normal form. */
export function normal(value: unknown, what: string): Query {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${what} is an object`);
  const object = value as Record<string, unknown>;
  if ('field' in object) return normalCondition(object, what);
  const operator = object['operator'] ?? 'and';
  if (!(GROUPS as readonly unknown[]).includes(operator)) throw new Error(`${what} combines by ${GROUPS.join(', ')}, not by ${String(operator)}`);
  const unknown = Object.keys(object).find((k) => k !== 'operator' && k !== 'conditions');
  if (unknown) throw new Error(`${what} has no member ${unknown}`);
  const list = object['conditions'] ?? [];
  if (!Array.isArray(list)) throw new Error(`conditions of ${what} are a list`);
  return group(operator as GroupOperator, list.map((item, i) => normal(item, `condition ${i + 1}`)));
}

function normalCondition(object: Record<string, unknown>, what: string): Condition {
  const { field, key, operator = 'is', value, options } = object;
  const unknown = Object.keys(object).find((k) => !['field', 'key', 'operator', 'value', 'options'].includes(k));
  if (unknown) throw new Error(`${what} has no member ${unknown}`);
  if (typeof field !== 'string') throw new Error(`the field of ${what} is a text`);
  if (key !== undefined && key !== null && typeof key !== 'string') throw new Error(`the key of ${what} is a text`);
  if (!(OPERATORS as readonly unknown[]).includes(operator ?? 'is')) throw new Error(`${what} has no operator ${String(operator)}`);
  if (options !== undefined && options !== null && typeof options !== 'object') throw new Error(`options of ${what} are an object`);
  const given = Object.entries(options ?? {}).filter(([, on]) => on === true).map(([name]) => name as Option);
  return condition(field, (operator ?? 'is') as Operator, (value ?? null) as Json, key ?? undefined, given);
}
