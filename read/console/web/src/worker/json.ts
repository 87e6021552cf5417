// A JSON value as rows that a virtual list can show: in preorder, in columns, with
// the end of each part, so that closing one skips it at once. Runs in a worker for
// large texts. No recursion: values come from outside and nest as they like.

export type Kind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

const KINDS: readonly Kind[] = ['object', 'array', 'string', 'number', 'boolean', 'null'];

/** Strings are cut here until somebody asks for all of one. */
export const CUT = 2000;

export interface JsonRows {
  /** Name in the object, position in the array; null for the top. */
  keys: (string | number | null)[];
  kinds: Uint8Array;
  depths: Uint16Array;
  /** The row after the last one within this one. */
  ends: Uint32Array;
  parents: Int32Array;
  /** Members of an object or array, characters of a string. */
  sizes: Uint32Array;
  /** A scalar as text, strings cut; '' for objects and arrays. */
  texts: string[];
  /** Whether a string holds JSON itself. */
  nested: Uint8Array;
}

export function kindOf(rows: JsonRows, row: number): Kind {
  return KINDS[rows.kinds[row]!]!;
}

export function indexJson(value: unknown): JsonRows {
  const keys: (string | number | null)[] = [];
  const kinds: number[] = [];
  const depths: number[] = [];
  const ends: number[] = [];
  const parents: number[] = [];
  const sizes: number[] = [];
  const texts: string[] = [];
  const nested: number[] = [];

  // What is open: the row, and what of it is still to come.
  const open: { row: number; names: string[] | null; value: Record<string, unknown> | readonly unknown[]; next: number }[] = [];

  const add = (key: string | number | null, v: unknown) => {
    const row = keys.length;
    keys.push(key);
    depths.push(open.length);
    parents.push(open.at(-1)?.row ?? -1);
    ends.push(row + 1);
    if (typeof v === 'object' && v !== null) {
      const array = Array.isArray(v);
      const names = array ? null : Object.keys(v);
      kinds.push(array ? 1 : 0);
      sizes.push(names ? names.length : (v as unknown[]).length);
      texts.push('');
      nested.push(0);
      open.push({ row, names, value: v as Record<string, unknown>, next: 0 });
      return;
    }
    if (typeof v === 'string') {
      kinds.push(2);
      sizes.push(v.length);
      texts.push(v.length > CUT ? v.slice(0, CUT) : v);
      nested.push(holdsJson(v) ? 1 : 0);
      return;
    }
    kinds.push(typeof v === 'number' ? 3 : typeof v === 'boolean' ? 4 : 5);
    sizes.push(0);
    texts.push(v === null || v === undefined ? 'null' : String(v));
    nested.push(0);
  };

  add(null, value);
  while (open.length) {
    const top = open.at(-1)!;
    const size = sizes[top.row]!;
    if (top.next === size) {
      ends[top.row] = keys.length;
      open.pop();
      continue;
    }
    const i = top.next++;
    if (top.names) add(top.names[i]!, (top.value as Record<string, unknown>)[top.names[i]!]);
    else add(i, (top.value as readonly unknown[])[i]);
  }
  return {
    keys, kinds: Uint8Array.from(kinds), depths: Uint16Array.from(depths), ends: Uint32Array.from(ends), parents: Int32Array.from(parents),
    sizes: Uint32Array.from(sizes), texts, nested: Uint8Array.from(nested),
  };
}

function holdsJson(text: string): boolean {
  if (text.length < 2 || text.length > 4_000_000) return false;
  const first = text.trimStart()[0];
  const last = text.trimEnd().at(-1);
  return (first === '{' && last === '}') || (first === '[' && last === ']');
}

/** pathOf gives the keys that lead to a row. */
export function pathOf(rows: JsonRows, row: number): (string | number)[] {
  const path: (string | number)[] = [];
  for (let r = row; r > 0; r = rows.parents[r]!) path.unshift(rows.keys[r]!);
  return path;
}

/** valueAt follows a path; undefined where it leads nowhere. */
export function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let v = value;
  for (const key of path) {
    if (typeof v !== 'object' || v === null || !Object.hasOwn(v, key)) return undefined;
    v = (v as Record<string | number, unknown>)[key];
  }
  return v;
}

/** visible lists the rows that are not within a closed one. */
export function visible(rows: JsonRows, closed: ReadonlySet<number>): Uint32Array {
  const out = new Uint32Array(rows.keys.length);
  let n = 0;
  for (let row = 0; row < rows.keys.length; row = closed.has(row) ? rows.ends[row]! : row + 1) out[n++] = row;
  return out.subarray(0, n);
}

/** closedBelow closes what is deeper than so many levels, and long lists beyond them. */
export function closedBelow(rows: JsonRows, levels: number): Set<number> {
  const closed = new Set<number>();
  for (let row = 0; row < rows.keys.length; row++) {
    if (rows.kinds[row]! < 2 && rows.sizes[row]! > 0 && rows.depths[row]! >= levels) closed.add(row);
  }
  return closed;
}

/** find gives the rows whose key or text holds this, whatever its case. */
export function find(rows: JsonRows, needle: string): number[] {
  const folded = needle.toLowerCase();
  const found: number[] = [];
  if (!folded) return found;
  for (let row = 0; row < rows.keys.length; row++) {
    const key = rows.keys[row];
    if ((typeof key === 'string' && key.toLowerCase().includes(folded)) || rows.texts[row]!.toLowerCase().includes(folded)) found.push(row);
  }
  return found;
}

/** showPath writes a path as the attributes of a filter are named: a.b.0. */
export function showPath(path: readonly (string | number)[]): string {
  return path.map((key) => String(key).replaceAll('\\', '\\\\').replaceAll('.', '\\.')).join('.');
}
