// The tree of a trace from its outline: columns in preorder with the ends of
// subtrees, so that closing one skips it at once. No recursion: traces nest as
// they like, and hold cycles where clients make mistakes.

import type { Outline } from '../../api/types';

export interface Tree {
  outline: Outline;
  /** Row to index in the outline, in preorder. */
  spans: Uint32Array;
  /** Index in the outline to row. */
  rows: Uint32Array;
  depths: Uint32Array;
  /** The row after the last one of the subtree. */
  ends: Uint32Array;
  /** Row of the parent, -1 for the top. */
  parents: Int32Array;
  /** Where the whole trace begins and ends, in nanoseconds after its start. */
  from: number;
  to: number;
}

export function buildTree(outline: Outline): Tree {
  const { parent, start_ns: starts, duration_ns: durations } = outline.columns;
  const n = parent.length;
  // Children of each span, one after the other; n is the parent of those without one.
  const first = new Uint32Array(n + 2);
  const owner = (i: number) => {
    const p = parent[i]!;
    return p >= 0 && p < n && p !== i ? p : n;
  };
  for (let i = 0; i < n; i++) first[owner(i) + 1]!++;
  for (let i = 0; i <= n; i++) first[i + 1]! += first[i]!;
  const children = new Uint32Array(n);
  const fill = first.slice(0, n + 1);
  for (let i = 0; i < n; i++) children[fill[owner(i)]!++] = i;

  const spans = new Uint32Array(n);
  const rows = new Uint32Array(n).fill(0xffffffff);
  const depths = new Uint32Array(n);
  const ends = new Uint32Array(n);
  const parents = new Int32Array(n).fill(-1);
  let count = 0;
  const stack: number[] = []; // rows whose children are being laid out
  const next = new Uint32Array(n + 1);

  const visit = (root: number) => {
    const open = (span: number, above: number) => {
      const row = count++;
      spans[row] = span;
      rows[span] = row;
      parents[row] = above;
      depths[row] = above < 0 ? 0 : depths[above]! + 1;
      next[span] = first[span]!;
      stack.push(row);
    };
    open(root, -1);
    while (stack.length) {
      const row = stack.at(-1)!;
      const span = spans[row]!;
      let child = -1;
      while (next[span]! < first[span + 1]! && child < 0) {
        const candidate = children[next[span]!++]!;
        if (rows[candidate] === 0xffffffff) child = candidate;
      }
      if (child >= 0) open(child, row);
      else {
        ends[row] = count;
        stack.pop();
      }
    }
  };
  for (let i = first[n]!; i < first[n + 1]!; i++) visit(children[i]!);
  // Spans that are their own ancestors hang below no top: the earliest of them becomes one.
  for (let i = 0; i < n; i++) if (rows[i] === 0xffffffff) visit(i);

  let from = n ? Number.POSITIVE_INFINITY : 0;
  let to = 0;
  for (let i = 0; i < n; i++) {
    from = Math.min(from, starts[i]!);
    to = Math.max(to, starts[i]! + durations[i]!);
  }
  return { outline, spans, rows, depths, ends, parents, from, to: Math.max(to, from + 1) };
}

/** shown lists the rows that no closed one hides and, with a choice, those that are in it or above one that is. */
export function shown(tree: Tree, closed: ReadonlySet<number>, only?: Uint8Array): Uint32Array {
  const n = tree.spans.length;
  let keep: Uint8Array | undefined;
  if (only) {
    keep = only.slice();
    // From the last row up: a parent stands before its children.
    for (let row = n - 1; row >= 0; row--) if (keep[row] && tree.parents[row]! >= 0) keep[tree.parents[row]!] = 1;
  }
  const out = new Uint32Array(n);
  let count = 0;
  for (let row = 0; row < n;) {
    if (!keep || keep[row]) out[count++] = row;
    row = closed.has(row) || (keep && !keep[row]) ? tree.ends[row]! : row + 1;
  }
  return out.subarray(0, count);
}

/** closedFrom closes every row at a depth or below it. */
export function closedFrom(tree: Tree, depth: number): Set<number> {
  const closed = new Set<number>();
  for (let row = 0; row < tree.spans.length; row++) if (tree.depths[row]! >= depth && tree.ends[row]! > row + 1) closed.add(row);
  return closed;
}

/**
 * criticalPath marks the rows that decided when the trace ended: from the end
 * backwards, the child that ended last, and before its start the next one.
 */
export function criticalPath(tree: Tree): Uint8Array {
  const { start_ns: starts, duration_ns: durations } = tree.outline.columns;
  const marked = new Uint8Array(tree.spans.length);
  const start = (row: number) => starts[tree.spans[row]!]!;
  const end = (row: number) => start(row) + durations[tree.spans[row]!]!;
  let top = -1;
  for (let row = 0; row < tree.spans.length; row = tree.ends[row]!) if (top < 0 || end(row) > end(top)) top = row;
  if (top < 0) return marked;
  const work: [row: number, until: number][] = [[top, end(top)]];
  while (work.length) {
    const [row, until] = work.pop()!;
    marked[row] = 1;
    const children: number[] = [];
    for (let c = row + 1; c < tree.ends[row]!; c = tree.ends[c]!) children.push(c);
    children.sort((a, b) => end(b) - end(a));
    let cursor = until;
    for (const child of children) {
      const ended = Math.min(end(child), until); // a child may end after its parent
      if (ended > cursor || start(child) >= cursor) continue;
      work.push([child, ended]);
      cursor = start(child);
    }
  }
  return marked;
}

/** ownTime gives, for each row, the nanoseconds in which none of its children ran. */
export function ownTime(tree: Tree, row: number): number {
  const { start_ns: starts, duration_ns: durations } = tree.outline.columns;
  const from = starts[tree.spans[row]!]!;
  const to = from + durations[tree.spans[row]!]!;
  let covered = 0;
  let until = from;
  // Children are in order of their starts.
  for (let c = row + 1; c < tree.ends[row]!; c = tree.ends[c]!) {
    const a = Math.max(starts[tree.spans[c]!]!, until);
    const b = Math.min(starts[tree.spans[c]!]! + durations[tree.spans[c]!]!, to);
    if (b > a) {
      covered += b - a;
      until = b;
    }
  }
  return to - from - covered;
}

/** findNames gives the rows whose name or model holds a text, whatever its case. */
export function findNames(tree: Tree, needle: string): number[] {
  const folded = needle.toLowerCase();
  if (!folded) return [];
  const { name, model } = tree.outline.columns;
  const { dictionaries } = tree.outline;
  const names = dictionaries.name.map((text) => text.toLowerCase().includes(folded));
  const models = dictionaries.model.map((text) => text.toLowerCase().includes(folded));
  const found: number[] = [];
  for (let row = 0; row < tree.spans.length; row++) {
    const i = tree.spans[row]!;
    if (names[name[i]!] || models[model[i]!]) found.push(row);
  }
  return found;
}

export interface Aligned { path: string; depth: number; name: string; a: number; b: number }

/** align pairs the rows of two traces by the names that lead to them, and the order among equals; -1 where one has none. */
export function align(a: Tree, b: Tree): Aligned[] {
  const paths = (tree: Tree): Map<string, number> => {
    const found = new Map<string, number>();
    const path: string[] = [];
    const seen = new Map<string, number>();
    for (let row = 0; row < tree.spans.length; row++) {
      const name = nameOf(tree, row);
      const above = tree.parents[row]! < 0 ? '' : path[tree.parents[row]!]!;
      const plain = `${above}/${name}`;
      const nth = seen.get(plain) ?? 0;
      seen.set(plain, nth + 1);
      path[row] = nth ? `${plain}#${nth + 1}` : plain;
      found.set(path[row]!, row);
    }
    return found;
  };
  const left = paths(a);
  const right = paths(b);
  const out: Aligned[] = [];
  for (const [path, row] of left) out.push({ path, depth: a.depths[row]!, name: nameOf(a, row), a: row, b: right.get(path) ?? -1 });
  // What only the second has stands after the last row that shares its parent.
  for (const [path, row] of right) {
    if (left.has(path)) continue;
    const parent = path.slice(0, path.lastIndexOf('/'));
    let at = out.findLastIndex((r) => r.path === parent || r.path.startsWith(`${parent}/`));
    if (at < 0) at = out.length - 1;
    out.splice(at + 1, 0, { path, depth: b.depths[row]!, name: nameOf(b, row), a: -1, b: row });
  }
  return out;
}

export function nameOf(tree: Tree, row: number): string {
  return tree.outline.dictionaries.name[tree.outline.columns.name[tree.spans[row]!]!] ?? '';
}
