// The state of a page stands in the fragment of its address: a fragment never
// leaves the browser, and what people search for is often what must not land in
// a proxy's log. Each page declares its keys; defaults are left out, unknown
// keys are kept, and a broken value is reported and dropped.

import { parseRange, printRange, type Range } from './time';

/** A key of an address: how its text is read and written. */
export interface Key<T> {
  initial: T;
  /** parse throws an Error that says what was expected. */
  parse(text: string): T;
  print(value: T): string;
}

// oxlint-disable-next-line typescript/no-explicit-any -- a schema holds keys of any type
export type Schema = Record<string, Key<any>>;
export type State<S extends Schema> = { [K in keyof S]: S[K] extends Key<infer T> ? T : never };

export interface Broken { key: string; value: string; message: string }

export interface Decoded<S extends Schema> {
  state: State<S>;
  broken: Broken[];
}

/** entries reads a fragment, with or without its #. Of a key that comes twice the last holds. */
export function entries(fragment: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const part of fragment.replace(/^#/, '').split('&')) {
    if (!part) continue;
    const at = part.indexOf('=');
    const key = unescape(at < 0 ? part : part.slice(0, at));
    found.set(key, at < 0 ? '' : unescape(part.slice(at + 1)));
  }
  return found;
}

function unescape(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody wrote a percent sign by hand
  }
}

// What would end a value or the fragment, and what browsers would escape themselves. All else stays readable.
function escape(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replaceAll(/[%&#\u0000-\u0020"<>`\u007f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, (c) =>
    /[\ud800-\udfff]/.test(c) ? '%EF%BF%BD' : encodeURIComponent(c));
}

export function decode<S extends Schema>(fragment: string, schema: S): Decoded<S> {
  const given = entries(fragment);
  const broken: Broken[] = [];
  const state: Record<string, unknown> = {};
  for (const [name, key] of Object.entries(schema)) {
    state[name] = key.initial;
    const text = given.get(name);
    if (text === undefined) continue;
    try {
      state[name] = key.parse(text);
    } catch (error) {
      broken.push({ key: name, value: text, message: error instanceof Error ? error.message : String(error) });
    }
  }
  return { state: state as State<S>, broken };
}

/** encode writes a state over a fragment, whose other keys stay, and stay where they are. */
export function encode<S extends Schema>(fragment: string, schema: S, change: Partial<State<S>>): string {
  const all = entries(fragment);
  for (const [name, value] of Object.entries(change)) {
    const key = schema[name];
    if (!key) continue;
    const text = value === undefined ? key.print(key.initial) : key.print(value);
    if (text === key.print(key.initial)) all.delete(name);
    else all.set(name, text);
  }
  return print(all);
}

export function print(all: Map<string, string>): string {
  return [...all].map(([key, value]) => `${escape(key).replaceAll('=', '%3D')}=${escape(value)}`).join('&');
}

// The kinds of keys.

export function text(initial = ''): Key<string> {
  return { initial, parse: (t) => t, print: (v) => v };
}

export function word<const W extends string>(words: readonly W[], initial: NoInfer<W>): Key<W> {
  return {
    initial,
    parse(t) {
      const found = words.find((w) => w === t);
      if (found === undefined) throw new Error(`it is one of ${words.join(', ')}`);
      return found;
    },
    print: (v) => v,
  };
}

export function whole(initial: number, low = 0, high = Number.MAX_SAFE_INTEGER): Key<number> {
  return {
    initial,
    parse(t) {
      const n = Number(t);
      if (!/^-?\d+$/.test(t) || n < low || n > high) throw new Error(`it is a whole number from ${low} to ${high}`);
      return n;
    },
    print: String,
  };
}

export function flag(): Key<boolean> {
  return {
    initial: false,
    parse(t) {
      if (t !== '1' && t !== '0') throw new Error('it is 1 or 0');
      return t === '1';
    },
    print: (v) => (v ? '1' : '0'),
  };
}

/** list is of texts without commas: ids, names of columns. Commas within are escaped twice. */
export function list(initial: readonly string[] = []): Key<readonly string[]> {
  return {
    initial,
    parse: (t) => (t === '' ? [] : t.split(',').map((item) => unescape(item))),
    print: (v) => v.map((item) => item.replaceAll('%', '%25').replaceAll(',', '%2C')).join(','),
  };
}

export interface Sort { by: string; descending: boolean }

export function sort(initial: Sort): Key<Sort> {
  return {
    initial,
    parse(t) {
      const by = t.replace(/^-/, '');
      if (!by) throw new Error('it is a column, with - before it for the other direction');
      return { by, descending: t.startsWith('-') };
    },
    print: (v) => `${v.descending ? '-' : ''}${v.by}`,
  };
}

export function range(initial = '24h'): Key<Range> {
  return { initial: parseRange(initial), parse: parseRange, print: printRange };
}

/** widths are pixels by column: name:180,input:320. */
export function widths(): Key<Readonly<Record<string, number>>> {
  return {
    initial: {},
    parse(t) {
      const all: Record<string, number> = {};
      for (const item of t.split(',').filter(Boolean)) {
        const at = item.lastIndexOf(':');
        const n = Number(item.slice(at + 1));
        if (at < 1 || !Number.isInteger(n) || n < 16 || n > 4000) throw new Error('it is a list of column:pixels');
        all[unescape(item.slice(0, at))] = n;
      }
      return all;
    },
    print: (v) => Object.entries(v).map(([name, n]) => `${name.replaceAll('%', '%25').replaceAll(',', '%2C')}:${n}`).join(','),
  };
}
