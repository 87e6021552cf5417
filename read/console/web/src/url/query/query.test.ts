import { describe, expect, it } from 'vitest';
import { condition, equal, fromFilter, group, parse, print, toFilter, type Json, type Query } from '.';
import cases from './testdata/cases.json';
import { OPERATORS, type Operator, type Option } from './tree';

function read(text: string): Query | null {
  const parsed = parse(text);
  if (!parsed.ok) throw new Error(`${text}: ${parsed.error.message} at ${parsed.error.from}`);
  return parsed.query;
}

describe('cases that the service reads as well', () => {
  it.each(cases)('$text', ({ text, filter }) => {
    const query = read(text);
    expect(toFilter(query)).toEqual(filter);
    expect(fromFilter(filter)).toEqual(query);
    expect(read(print(query))).toEqual(query);
  });
});

describe('what people write', () => {
  it.each<[string, string]>([
    ['type:chat  status:error', 'type:chat status:error'],
    ['type:chat and status:error', 'type:chat status:error'],
    ['TYPE OR chat', 'TYPE or chat'],
    ['(a b) or c', 'a b or c'],
    ['a (b or c)', 'a (b or c)'],
    ['not (a b)', '-(a b)'],
    ['- a', '- a'],
    ['-type:chat', '-type:chat'],
    ['nand(a b)', 'nand(a b)'],
    ['nand((a b))', 'nand((a b))'],
    ['nor(a or b)', 'nor(a or b)'],
    ['nor(a b)', 'nor(a b)'],
    ['duration>2000', 'duration>2s'],
    ['duration>=1.1s', 'duration>=1.1s'],
    ['duration<90s', 'duration<1.5m'],
    ['tokens>10000', 'tokens>10k'],
    ['cost>0.01', 'cost>0.01'],
    ['ag.metrics.costs.cumulative.total>0.01', 'cost>0.01'],
    ['span_name:"x"', 'name:x'],
    ['status_code:STATUS_CODE_ERROR', 'status:error'],
    ['kind:server', 'kind:server'],
    ['parent:null', 'parent:null'],
    ['name:"null"', 'name:"null"'],
    ['type:(chat,llm tool)', 'type:(chat, llm, tool)'],
    ['duration:[1s..2s]', 'duration:[1s..2s]'],
    ['start_time:["2026-11-28T00:00:00Z".."2026-11-29T00:00:00Z"]', 'start_time:[2026-11-28T00:00:00Z..2026-11-29T00:00:00Z]'],
    ["name~Planner'c", "name~Planner'c"],
    ["name~=x'cx", "name~=x'c'x"],
    ['tag.team:search', 'tag.team:search'],
    ['attributes.foo:5', 'attributes.foo:5'],
    ['"a key":5', '"a key":5'],
    ['ag.data.inputs.x:"5"', 'ag.data.inputs.x:"5"'],
    ['service:api', 'service:api'],
    ['user!:*', 'user!:*'],
    ['root', 'root'],
    ['"root"', '"root"'],
    ['"late refund"', '"late refund"'],
    ['content~"late refund"', 'content~"late refund"'],
  ])('%s is written %s', (text, want) => {
    expect(print(read(text))).toBe(want);
    expect(read(want)).toEqual(read(text));
  });

  it('finds where each condition stands', () => {
    const text = 'type:chat (a or cost>1)';
    const parsed = parse(text);
    expect(parsed.ok && [...parsed.places.values()].map(([from, to]) => text.slice(from, to))).toEqual(['type:chat', 'a', 'cost>1', 'a or cost>1', text]);
  });

  it.each<[string, number, number, string]>([
    ['nofield:x', 0, 7, 'There is no field nofield.'],
    ['a "open', 2, 7, 'not closed'],
    ['(a b', 0, 1, 'not closed'],
    ['a)', 1, 2, 'closes nothing'],
    ['a ()', 2, 4, 'nothing between'],
    ['type:', 5, 5, 'value is missing'],
    ['a or', 4, 4, 'missing'],
    ['type:(a', 5, 7, 'not closed'],
    ['duration:[1s 2s]', 13, 14, 'Two dots'],
    ['{"field":1}', 0, 11, 'the field of this is a text'],
    ['{"operator":"xor","conditions":[]}', 0, 34, 'combines by'],
    ['{"field":"span_name","operator":"near"}', 0, 39, 'no operator near'],
  ])('%s is refused where it is wrong', (text, from, to, message) => {
    const parsed = parse(text);
    expect(parsed.ok).toBe(false);
    if (parsed.ok) return;
    expect(parsed.error.message).toContain(message);
    expect([parsed.error.from, parsed.error.to]).toEqual([from, to]);
  });

  it('is read in a time that grows with its length', () => {
    const text = `${'(a or '.repeat(30)}b${')'.repeat(30)} ${'x:y '.repeat(0)}${'word '.repeat(20_000)}`;
    const before = performance.now();
    expect(parse(text).ok).toBe(true);
    expect(performance.now() - before).toBeLessThan(4000);
    expect(parse('('.repeat(100_000)).ok).toBe(false);
    expect(parse('"'.repeat(100_001)).ok).toBe(false);
  });
});

// A generator of any tree that the filter of the API can be.
class Random {
  constructor(private seed: number) {}
  next(): number {
    this.seed = (Math.imul(this.seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.seed / 2 ** 32;
  }
  below(n: number): number {
    return Math.floor(this.next() * n);
  }
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

const FIELDS = ['trace_id', 'span_id', 'parent_id', 'trace_type', 'span_type', 'span_kind', 'status_code', 'span_name', 'status_message', 'session_id', 'user_id', 'agent_id',
  'start_time', 'end_time', 'created_at', 'updated_at', 'deleted_at', 'created_by_id', 'attributes', 'attributes', 'attributes', 'resource', 'scope', 'links', 'references', 'events', 'hashes', 'content', 'content', 'root', 'something_new', ''];
const KEYS = ['ag.meta.response.model', 'ag.metrics.duration.cumulative', 'ag.metrics.costs.cumulative.total', 'ag.metrics.tokens.cumulative.total', 'ag.metrics.costs.incremental.total', 'ag.references.application.slug',
  'ag.tags.team', 'ag.tags.', 'ag.meta.system', 'ag.flags.is_x', 'service.name', 'foo', 'a.b', 'a key', 'a"b', '.x', 'x.', 'tag.y', 'attributes.z', 'name', 'own.cost', 'ключ.字', 'a:b', 'attributes.', 'x-y/z@1', '-a.b', 'not.x', '\\', '\n', '{', 'a.b*'];
const TEXTS = ['', 'chat', 'STATUS_CODE_ERROR', 'error', 'SPAN_KIND_CLIENT', 'null', 'true', '5', '-1', '1e3', '2s', '10k', 'and', 'or', 'NOT', 'not', '-x', 'a b', '"a b"', '"', '""', '\\', "it's", "x'c", "'x", 'a..b', '..', '[1]', '{"a":1}', '(x)', 'a,b', '*', ':*', 'a:b', 'name:x', '字 é', '😀', '\ud800', '\n', '\t', ' ', 'root', 'nand(x)', '2026-11-28T00:00:00Z', '1764340000', 'http://x/?a=1', '"a"b', '"un', "''", 'x)', '$', '^', '~', '{', '"a \\" b"', '"root"', '\u0000', '\u2028', '""x'];
const NUMBERS = [0, 1, -1, 5, 0.1, 1e-7, 1.1, 2000, 1100, 90_000, 10_000, 12_345.678, 1e21, 1e300, -0.25, 86_400_000, 2 ** 53, 0.000_5, 123_456_789_012, 1764340000, 3_600_001, 1e-10];

function json(r: Random, depth = 0): Json {
  switch (r.below(depth > 2 ? 4 : 6)) {
    case 0: return r.of(NUMBERS);
    case 1: return r.of([null, true, false]);
    case 4: return Array.from({ length: r.below(3) }, () => json(r, depth + 1));
    case 5: return Object.fromEntries(Array.from({ length: r.below(3) }, () => [r.of(TEXTS), json(r, depth + 1)]));
    default: return r.of(TEXTS);
  }
}

function tree(r: Random, depth = 0): Query {
  if (depth < 5 && r.next() < 0.45) {
    const operator = r.of(['and', 'or', 'not', 'nand', 'nor'] as const);
    return group(operator, Array.from({ length: operator === 'not' && r.next() < 0.9 ? 1 : r.below(4) }, () => tree(r, depth + 1)));
  }
  const field = r.of(FIELDS);
  const operator: Operator = r.of(OPERATORS);
  const key = ['attributes', 'resource', 'scope'].includes(field) || r.next() < 0.05 ? r.of(KEYS) : undefined;
  const value = ['in', 'not_in'].includes(operator) && r.next() < 0.9 ? Array.from({ length: r.below(4) }, () => json(r, 1))
    : operator === 'btwn' && r.next() < 0.9 ? [json(r, 2), json(r, 2)] : json(r);
  const options = (['case_sensitive', 'exact_match', 'all'] as Option[]).filter(() => r.next() < 0.1);
  return condition(field, operator, value, key, options);
}

describe('text and tree are inverse', () => {
  it('for 10 000 trees', () => {
    const r = new Random(20_261_128);
    let literals = 0;
    for (let i = 0; i < 10_000; i++) {
      const query = tree(r);
      const text = print(query);
      const back = parse(text);
      if (!back.ok || !equal(back.query, query)) {
        expect(back.ok ? back.query : back.error, text).toEqual(query);
        expect.unreachable(text);
      }
      const filter = toFilter(query)!;
      const again = fromFilter(JSON.parse(JSON.stringify(filter)));
      const single = 'conditions' in query && query.operator === 'and' && query.conditions.length < 2;
      if (!single && !equal(again, query)) expect(again, text).toEqual(query);
      if (text.startsWith('{')) literals++;
    }
    // Many of these trees nobody would type; even of them most have a short form.
    expect(literals).toBeLessThan(5000);
  });
});
