// The query language: tree to text, in the shortest form that reads back as the same tree.

import { find, keyed, names, type Field } from './field';
import { parse } from './parse';
import { equal, isGroup, type Condition, type Group, type Json, type Query } from './tree';
import { quote, words } from './value';

/** print writes a query; parse reads it back. */
export function print(query: Query | null): string {
  return query === null ? '' : write(query, 'top');
}

type Around = 'top' | 'or' | 'and' | 'unary';

function write(query: Query, around: Around): string {
  if (!isGroup(query)) return leaf(query);
  const { operator, conditions } = query;
  switch (operator) {
    case 'not':
      return conditions.length === 1 ? negated(conditions[0]!, around) : literal(query);
    case 'nand':
    case 'nor':
      return joined(query);
    case 'and':
    case 'or': {
      // The language has no list of one: brackets around one condition are that condition.
      if (conditions.length < 2) return literal(query);
      const text = conditions.map((child) => write(child, operator)).join(operator === 'and' ? ' ' : ' or ');
      const open = around === 'top' || (around === 'or' && operator === 'and');
      return open ? text : `(${text})`;
    }
  }
}

function negated(child: Query, around: Around): string {
  const text = write(child, 'unary');
  const closed = isGroup(child) && child.operator === 'not' ? `(${text})` : text;
  return around === 'unary' ? `(-${closed})` : `-${closed}`;
}

function joined(query: Group): string {
  const { operator, conditions } = query;
  const bare = operator === 'nand' ? 'and' : 'or';
  if (conditions.length === 0) return literal(query);
  if (conditions.length === 1) {
    const only = conditions[0]!;
    const same = isGroup(only) && only.operator === bare;
    return `${operator}(${write(only, same ? 'unary' : 'top')})`;
  }
  return `${operator}(${conditions.map((child) => write(child, bare)).join(bare === 'and' ? ' ' : ' or ')})`;
}

function literal(query: Query): string {
  return JSON.stringify(query);
}

/** leaf writes a condition: of its forms, the shortest that reads back. */
export function leaf(c: Condition): string {
  for (const text of forms(c)) {
    const back = parse(text);
    if (back.ok && back.query !== null && equal(back.query, c)) return text;
  }
  return literal(c);
}

function* forms(c: Condition): Generator<string> {
  if (c.field === 'root' && c.operator === 'is' && c.value === true) yield 'root';
  if (c.field === 'content' && c.operator === 'contains' && typeof c.value === 'string') yield c.value;
  if (c.options?.all) return;
  for (const name of [...names(c.field, c.key), ...(c.field === 'attributes' && c.key ? [quote(c.key)] : [])]) {
    const field = name.startsWith('"') ? keyed('attributes', c.key!) : find(name);
    if (!field) continue;
    for (const after of operators(c, field)) yield name + after;
  }
}

const SIGNS: Partial<Record<string, string>> = {
  is: ':', is_not: '!:', eq: '=', neq: '!=', gt: '>', gte: '>=', lt: '<', lte: '<=',
  contains: '~', startswith: '^', endswith: '$', like: '~~', matches: '~=',
};

function* operators(c: Condition, field: Field): Generator<string> {
  const value = c.value ?? null;
  switch (c.operator) {
    case 'exists':
      yield ':*';
      return;
    case 'not_exists':
      yield '!:*';
      return;
    case 'in':
    case 'not_in':
      if (Array.isArray(value)) yield `${c.operator === 'in' ? ':' : '!:'}(${value.map((item) => one(item, field)).join(', ')})`;
      return;
    case 'btwn':
      if (Array.isArray(value) && value.length === 2) {
        yield `:[${words(value[0]!, field.kind)[0] ?? ''}..${words(value[1]!, field.kind)[0] ?? ''}]`;
        yield `:[${one(value[0]!, field)}..${one(value[1]!, field)}]`;
      }
      return;
    default: {
      const sign = SIGNS[c.operator];
      if (!sign) return;
      const options = (c.options?.case_sensitive ? "'c" : '') + (c.options?.exact_match ? "'x" : '');
      for (const word of words(value, field.kind)) yield sign + word + options;
      yield sign + JSON.stringify(value) + options;
    }
  }
}

// One item of a list: a word where it reads back as the same value, else JSON.
function one(value: Json, field: Field): string {
  for (const word of words(value, field.kind)) {
    const back = parse(`${names(field.field, field.key).at(-1)}:${word}`);
    if (back.ok && back.query && !isGroup(back.query) && back.query.operator === 'is' && equal(back.query.value, value)) return word;
  }
  return JSON.stringify(value);
}
