// Testcases from spans: which members of inputs and outputs become which columns.

/** What of a span a testcase is made of. */
export interface Source { trace: string; span: string; inputs: unknown; outputs: unknown }

export interface Mapping { path: string; column: string }

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);

/** The most members that are offered as columns. */
const MOST = 60;

/** pathsOf lists the members of inputs and outputs that the spans have, the most frequent first: inputs.country, outputs.answer, or outputs as a whole. */
export function pathsOf(sources: readonly Source[]): string[] {
  const counts = new Map<string, number>();
  const count = (path: string) => counts.set(path, (counts.get(path) ?? 0) + 1);
  for (const s of sources) {
    for (const [name, value] of [['inputs', s.inputs], ['outputs', s.outputs]] as const) {
      if (value === undefined || value === null) continue;
      if (isObject(value)) for (const key of Object.keys(value)) count(`${name}.${key}`);
      else count(name);
    }
  }
  const order = (path: string) => (path.startsWith('inputs') ? 0 : 1);
  return [...counts].toSorted((a, b) => order(a[0]) - order(b[0]) || b[1] - a[1] || a[0].localeCompare(b[0])).map(([path]) => path).slice(0, MOST);
}

/** propose gives each member of the inputs a column of its own name; the output becomes what is expected. */
export function propose(paths: readonly string[]): Mapping[] {
  const outputs = paths.filter((p) => p.startsWith('outputs'));
  const taken = new Set<string>();
  return paths.map((path) => {
    const last = path.slice(path.indexOf('.') + 1);
    let column = path === 'inputs' ? 'input' : path.startsWith('inputs.') ? last : outputs.length === 1 ? 'expected' : path === 'outputs' ? 'expected' : `expected_${last}`;
    while (taken.has(column)) column = `${column}_2`;
    taken.add(column);
    return { path, column };
  });
}

/** valueAt reads inputs or outputs, or one member of either. */
export function valueAt(source: Source, path: string): unknown {
  const dot = path.indexOf('.');
  const whole = path.startsWith('inputs') ? source.inputs : source.outputs;
  if (dot < 0) return whole;
  return isObject(whole) && Object.hasOwn(whole, path.slice(dot + 1)) ? whole[path.slice(dot + 1)] : undefined;
}

export interface Testcase { data: Record<string, unknown>; meta: { source: string } }

/** testcases makes the rows. Of rows with equal data the first one stays; empty counts those without any value. */
export function testcases(sources: readonly Source[], mapping: readonly Mapping[]): { rows: Testcase[]; duplicates: number; empty: number } {
  const used = mapping.filter((m) => m.column.trim() !== '');
  const seen = new Set<string>();
  const rows: Testcase[] = [];
  let duplicates = 0;
  let empty = 0;
  for (const source of sources) {
    const data: Record<string, unknown> = {};
    for (const m of used) {
      const value = valueAt(source, m.path);
      if (value !== undefined && value !== null) data[m.column.trim()] = value;
    }
    if (!Object.keys(data).length) {
      empty++;
      continue;
    }
    const key = JSON.stringify(Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    if (seen.has(key)) duplicates++;
    else {
      seen.add(key);
      rows.push({ data, meta: { source: `${source.trace}.${source.span}` } });
    }
  }
  return { rows, duplicates, empty };
}

/** problem says why a mapping cannot be used; undefined for one that can. */
export function problem(mapping: readonly Mapping[]): string | undefined {
  const names = mapping.map((m) => m.column.trim()).filter(Boolean);
  if (!names.length) return 'Give at least one column a name.';
  const twice = names.find((n, i) => names.indexOf(n) !== i);
  return twice === undefined ? undefined : `The column ${twice} is there twice.`;
}

/** slugOf makes of a name what the service takes as a slug. */
export function slugOf(name: string): string {
  return name.normalize('NFKD').toLowerCase().replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '');
}
