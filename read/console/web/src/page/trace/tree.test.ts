import { describe, expect, it } from 'vitest';
import type { Outline } from '../../api/types';
import { align, buildTree, closedFrom, criticalPath, findNames, ownTime, shown } from './tree';

export function outlineOf(spans: { name: string; parent: number; start: number; duration: number; model?: string }[]): Outline {
  const name = [...new Set(spans.map((s) => s.name))];
  const model = [...new Set(spans.map((s) => s.model).filter((m): m is string => m !== undefined))];
  const zeros = spans.map(() => 0);
  const nulls = spans.map(() => null);
  return {
    trace_id: 'a'.repeat(32), trace_type: 'invocation', complete: true, next: null, start: '2026-11-28T00:00:00Z', end: '2026-11-28T00:00:01Z', running: false,
    totals: { spans: spans.length, errors: 0, tokens_prompt: null, tokens_completion: null, tokens_total: null, cost: null },
    dictionaries: { name, type: ['task'], model, service: [] },
    columns: {
      span_id: spans.map((_, i) => i.toString(16).padStart(16, '0')), parent: spans.map((s) => s.parent), orphan: zeros, name: spans.map((s) => name.indexOf(s.name)), type: zeros, kind: zeros, status: zeros,
      start_ns: spans.map((s) => s.start), duration_ns: spans.map((s) => s.duration), tokens_prompt: nulls, tokens_completion: nulls, cost: nulls, total_cost: nulls, errors: nulls,
      model: spans.map((s) => (s.model ? model.indexOf(s.model) : -1)), service: zeros, links: zeros, events: zeros, annotations: zeros, bytes: zeros,
    },
  };
}

const small = buildTree(outlineOf([
  { name: 'planner', parent: -1, start: 0, duration: 100 },
  { name: 'chat', parent: 0, start: 5, duration: 30, model: 'GPT-4o' },
  { name: 'search', parent: 0, start: 36, duration: 20 },
  { name: 'search', parent: 0, start: 40, duration: 10 },
  { name: 'chat', parent: 0, start: 60, duration: 38, model: 'gpt-4o' },
  { name: 'inner', parent: 4, start: 70, duration: 28 },
]));

describe('the tree of a trace', () => {
  it('is the same as a naive one, for any parents', () => {
    let seed = 5;
    const random = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
    for (let round = 0; round < 200; round++) {
      const n = 1 + random(60);
      const spans = Array.from({ length: n }, (_, i) => ({ name: `n${random(5)}`, parent: round % 4 === 0 ? random(n + 1) - 1 : i === 0 ? -1 : random(i + 1) - 1, start: i * 10, duration: random(500) }));
      const tree = buildTree(outlineOf(spans));
      // Each span once, each below its parent unless it is in a cycle.
      expect([...tree.spans].toSorted((a, b) => a - b)).toEqual(spans.map((_, i) => i));
      const naive: number[] = [];
      const walk = (i: number, depth: number) => {
        naive.push(i);
        expect(tree.depths[tree.rows[i]!]).toBe(depth);
        spans.forEach((s, j) => { if (s.parent === i && j !== i) walk(j, depth + 1); });
        expect(tree.ends[tree.rows[i]!]).toBe(naive.length);
      };
      if (round % 4 !== 0) {
        spans.forEach((s, i) => { if (s.parent < 0 || s.parent === i) walk(i, 0); });
        expect([...tree.spans]).toEqual(naive);
      }
      expect(shown(tree, new Set())).toHaveLength(n);
    }
  });
  it('hides what is closed and keeps the way to what is chosen', () => {
    expect([...shown(small, new Set([4]))]).toEqual([0, 1, 2, 3, 4]);
    expect([...shown(small, closedFrom(small, 0))]).toEqual([0]);
    const only = new Uint8Array(6);
    only[5] = 1;
    expect([...shown(small, new Set(), only)]).toEqual([0, 4, 5]);
  });
  it('finds names and models', () => {
    expect(findNames(small, 'CHAT')).toEqual([1, 4]);
    expect(findNames(small, 'gpt')).toEqual([1, 4]);
    expect(findNames(small, '')).toEqual([]);
  });
  it('knows which spans decided the end', () => {
    // The second search ran within the first and decided nothing.
    expect([...criticalPath(small)]).toEqual([1, 1, 1, 0, 1, 1]);
  });
  it('knows the time in which no child ran', () => {
    expect(ownTime(small, 0)).toBe(100 - 30 - 20 - 38);
    expect(ownTime(small, 4)).toBe(10);
    expect(ownTime(small, 5)).toBe(28);
  });
  it('pairs two traces', () => {
    const other = buildTree(outlineOf([
      { name: 'planner', parent: -1, start: 0, duration: 90 },
      { name: 'chat', parent: 0, start: 5, duration: 40 },
      { name: 'search', parent: 0, start: 50, duration: 10 },
      { name: 'rerank', parent: 0, start: 60, duration: 10 },
    ]));
    expect(align(small, other).map(({ name, a, b }) => [name, a, b])).toEqual([['planner', 0, 0], ['chat', 1, 1], ['search', 2, 2], ['search', 3, -1], ['chat', 4, -1], ['inner', 5, -1], ['rerank', -1, 3]]);
  });
  it('takes 100 000 spans, and 100 000 levels', () => {
    const wide = buildTree(outlineOf(Array.from({ length: 100_000 }, (_, i) => ({ name: 'n', parent: Math.floor((i - 1) / 8), start: i, duration: 5 }))));
    expect(wide.ends[0]).toBe(100_000);
    const deep = buildTree(outlineOf(Array.from({ length: 100_000 }, (_, i) => ({ name: 'n', parent: i - 1, start: i, duration: 5 }))));
    expect(deep.depths.at(-1)).toBe(99_999);
    expect(criticalPath(deep).reduce((a, b) => a + b, 0)).toBeGreaterThan(0);
  });
});
