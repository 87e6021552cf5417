import { describe, expect, it } from 'vitest';
import { closedBelow, CUT, find, indexJson, kindOf, pathOf, showPath, valueAt, visible } from './json';

const value = { a: { b: [1, 'two', null, { c: true }], empty: {} }, 'd.e': '{"x":1}', long: 'x'.repeat(CUT + 5) };
const rows = indexJson(value);

describe('JSON as rows', () => {
  it('is in preorder with ends', () => {
    expect(rows.keys).toEqual([null, 'a', 'b', 0, 1, 2, 3, 'c', 'empty', 'd.e', 'long']);
    expect([...rows.depths]).toEqual([0, 1, 2, 3, 3, 3, 3, 4, 2, 1, 1]);
    expect([...rows.ends]).toEqual([11, 9, 8, 4, 5, 6, 8, 8, 9, 10, 11]);
    expect(rows.keys.map((_, row) => kindOf(rows, row))).toEqual(['object', 'object', 'array', 'number', 'string', 'null', 'object', 'boolean', 'object', 'string', 'string']);
    expect([rows.sizes[2], rows.sizes[10], rows.texts[10]!.length, rows.nested[9], rows.nested[4]]).toEqual([4, CUT + 5, CUT, 1, 0]);
  });
  it('leads back to the value by each path', () => {
    for (let row = 0; row < rows.keys.length; row++) {
      const at = valueAt(value, pathOf(rows, row));
      if (kindOf(rows, row) === 'string') expect(String(at).slice(0, CUT)).toBe(rows.texts[row]);
      else if (rows.kinds[row]! > 1) expect(String(at)).toBe(rows.texts[row]);
    }
    expect(valueAt(value, ['a', 'nothing', 'x'])).toBeUndefined();
    expect(valueAt(value, ['a', 'constructor'])).toBeUndefined();
    expect(showPath(['a', 'd.e', 0])).toBe('a.d\\.e.0');
  });
  it('hides what is closed', () => {
    expect([...visible(rows, new Set([2]))]).toEqual([0, 1, 2, 8, 9, 10]);
    expect([...visible(rows, new Set([0, 2]))]).toEqual([0]);
    expect([...closedBelow(rows, 2)]).toEqual([2, 6]);
  });
  it('finds keys and texts', () => {
    expect(find(rows, 'TWO')).toEqual([4]);
    expect(find(rows, 'e')).toEqual([7, 8, 9]);
    expect(find(rows, '')).toEqual([]);
  });
  it('takes what nests 100 000 deep and what is 200 000 wide', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 60_000; i++) deep = [deep];
    expect(indexJson(deep).ends[0]).toBe(60_001);
    expect(indexJson(Array.from({ length: 200_000 }, (_, i) => i)).keys).toHaveLength(200_001);
  });
});
