import { describe, expect, it } from 'vitest';
import { pathsOf, problem, propose, slugOf, testcases, valueAt, type Source } from './map';

const source = (span: string, inputs: unknown, outputs: unknown): Source => ({ trace: 't', span, inputs, outputs });

describe('testcases from spans', () => {
  it('offers members of inputs before those of outputs, the frequent ones first', () => {
    expect(pathsOf([source('1', { b: 1 }, 'x'), source('2', { b: 2, a: 1 }, 'y'), source('3', null, undefined)])).toEqual(['inputs.b', 'inputs.a', 'outputs']);
    expect(pathsOf([source('1', ['list'], { answer: 1, why: 2 })])).toEqual(['inputs', 'outputs.answer', 'outputs.why']);
    expect(pathsOf([])).toEqual([]);
  });
  it('proposes columns of different names', () => {
    expect(propose(['inputs.country', 'outputs'])).toEqual([{ path: 'inputs.country', column: 'country' }, { path: 'outputs', column: 'expected' }]);
    expect(propose(['inputs', 'outputs.answer', 'outputs.why']).map((m) => m.column)).toEqual(['input', 'expected_answer', 'expected_why']);
    expect(propose(['inputs.expected', 'outputs.answer']).map((m) => m.column)).toEqual(['expected', 'expected_2']);
  });
  it('reads members with dots in their names, and none of the prototype', () => {
    expect(valueAt(source('1', { 'a.b': 1 }, null), 'inputs.a.b')).toBe(1);
    expect(valueAt(source('1', { a: 1 }, null), 'inputs.toString')).toBeUndefined();
  });
  it('keeps one of equal rows, and says how many there were', () => {
    const mapping = propose(['inputs.q', 'outputs']);
    const made = testcases([source('1', { q: 1, z: 0 }, 'a'), source('2', { z: 1, q: 1 }, 'a'), source('3', { q: 2 }, null), source('4', null, null)], mapping);
    expect(made).toEqual({ rows: [{ data: { q: 1, expected: 'a' }, meta: { source: 't.1' } }, { data: { q: 2 }, meta: { source: 't.3' } }], duplicates: 1, empty: 1 });
    expect(testcases([source('1', { q: 1 }, 'a')], [{ path: 'inputs.q', column: ' question ' }, { path: 'outputs', column: '' }]).rows[0]!.data).toEqual({ question: 1 });
  });
  it('refuses a mapping without columns, or with one twice', () => {
    expect(problem([{ path: 'inputs', column: ' ' }])).toMatch(/at least one/);
    expect(problem([{ path: 'a', column: 'x' }, { path: 'b', column: 'x ' }])).toMatch(/twice/);
    expect(problem([{ path: 'a', column: 'x' }, { path: 'b', column: '' }, { path: 'c', column: '' }])).toBeUndefined();
  });
  it('makes slugs', () => expect([slugOf('Café failures, 2026!'), slugOf('--')]).toEqual(['cafe-failures-2026', '']));
});
