import { describe, expect, it } from 'vitest';
import { changes } from './diff';

describe('changes of JSON values', () => {
  it('lists members by their paths, and nothing of what is equal', () => {
    expect(changes({ a: 1, b: { c: [1, 2], d: 'x' } }, { a: 1, b: { c: [1, 3, 4], d: 'x' }, e: null })).toEqual([
      { path: 'b.c[1]', from: 2, to: 3 }, { path: 'b.c[2]', from: undefined, to: 4 }, { path: 'e', from: undefined, to: null },
    ]);
    expect(changes({ a: [1] }, { a: [1] })).toEqual([]);
  });
  it('compares values of different kinds as a whole', () => {
    expect(changes({ a: [1] }, { a: { b: 1 } })).toEqual([{ path: 'a', from: [1], to: { b: 1 } }]);
    expect(changes('x', 'y')).toEqual([{ path: '', from: 'x', to: 'y' }]);
  });
});
