// The grid of one or more runs (POST /evaluations/grid) as the pages use it: cases,
// applications and scores, each a list of values by the position of a row.

import type { Paired } from '../../worker/stats';

export interface Grid { count: number; columns: Record<string, readonly unknown[]>; schemas?: Record<string, Schema>; windowing?: { next?: string } }

export interface Reference { id?: string; slug?: string; version?: string }
export interface Step { key: string; type: 'input' | 'invocation' | 'annotation'; origin: string; references: Record<string, Reference>; inputs?: { key: string }[] }

/** Values of one column; undefined where the grid has no such column. */
type Values = readonly unknown[] | undefined;

export interface Application { key: string; name: string; status: Values; trace: Values; output: Values; latency: Values; cost: Values }

export interface Score {
  /** Name of the column: step and path. */
  id: string;
  step: string;
  path: string;
  /** What the score is called in every run: evaluator and, unless it is the only one, the path. */
  name: string;
  evaluator: string;
  /** Key of the application that is scored, where a run has several. */
  application: string | undefined;
  values: readonly unknown[];
  /** What the evaluator declares about it. */
  schema: Schema | undefined;
  status: Values;
  trace: Values;
}

export interface Case {
  key: string;
  run: string;
  scenario: string;
  testcase: string;
  inputs: string;
  expected: string;
  /** Positions of the repeats. */
  rows: number[];
}

export interface Sheet { cases: Case[]; applications: Application[]; scores: Score[]; notes: Score[] }

const text = (v: unknown) => (v === null || v === undefined ? '' : typeof v === 'string' ? v : JSON.stringify(v));

export const asNumber = (v: unknown): number | null => (typeof v === 'number' ? v : typeof v === 'boolean' ? Number(v) : null);

function slugOf(step: Step, kind: string): string {
  const { references: r } = step;
  return r[kind]?.slug ?? r[`${kind}_variant`]?.slug ?? r[`${kind}_revision`]?.slug ?? step.key;
}

export function applicationName(step: Step): string {
  const version = step.references['application_revision']?.version;
  return slugOf(step, 'application') + (version ? ` v${version}` : '');
}

export function testsetName(steps: readonly Step[]): string {
  const inputs = steps.filter((s) => s.type === 'input');
  return inputs.map((s) => {
    const kind = s.references['query_revision'] ?? s.references['query'] ? 'query' : 'testset';
    const version = s.references[`${kind}_revision`]?.version;
    return slugOf(s, kind) + (version ? ` v${version}` : '');
  }).join(', ') || '–';
}

export const evaluatorName = (step: Step) => slugOf(step, 'evaluator');

/** readSheet reads the columns of one run by its steps. */
export function readSheet(grid: Grid, steps: readonly Step[], run?: string): Sheet {
  const { columns } = grid;
  const of = (...names: string[]): Values => names.map((n) => columns[n]).find((c) => c !== undefined);
  const scenarios = columns['scenario_id'] ?? [];
  const runs = columns['run_id'];
  const found = new Map<string, Case>();
  scenarios.forEach((scenario, i) => {
    const owner = text(runs?.[i]);
    if (run !== undefined && runs && owner !== run) return;
    const key = text(scenario);
    const one = found.get(key);
    if (one) one.rows.push(i);
    else found.set(key, { key, run: owner, scenario: key, testcase: text(columns['testcase_id']?.[i]), inputs: text(columns['preview.inputs']?.[i]), expected: text(columns['preview.expected']?.[i]), rows: [i] });
  });

  const invocations = steps.filter((s) => s.type === 'invocation');
  const judges = steps.filter((s) => s.type === 'annotation');
  const single = invocations.length < 2;
  const applications = invocations.map((s): Application => ({
    key: s.key, name: applicationName(s),
    status: of(`status.${s.key}`), trace: of(`trace_id.${s.key}`, ...(single ? ['trace_id'] : [])),
    output: of(`preview.outputs.${s.key}`, ...(single ? ['preview.outputs'] : [])),
    latency: of(`latency_ms.${s.key}`, ...(single ? ['latency_ms'] : [])), cost: of(`cost.${s.key}`, ...(single ? ['cost'] : [])),
  }));

  const all: Score[] = [];
  // A key may be the beginning of another one: the longest that fits names the step.
  const keys = steps.map((s) => s.key).toSorted((a, b) => b.length - a.length);
  for (const [id, values] of Object.entries(columns)) {
    const key = keys.find((k) => id.startsWith(`${k}.`));
    const step = key === undefined ? undefined : judges.find((s) => s.key === key);
    if (!step) continue;
    const path = id.slice(step.key.length + 1);
    const judged = single ? undefined : step.inputs?.find((input) => invocations.some((a) => a.key === input.key))?.key;
    all.push({ id, step: step.key, path, name: '', evaluator: evaluatorName(step), application: judged, values, schema: grid.schemas?.[id], status: of(`status.${step.key}`), trace: of(`trace_id.${step.key}`) });
  }
  const scored = all.filter((s) => s.values.some((v) => typeof v === 'number' || typeof v === 'boolean'));
  for (const s of all) {
    const alone = scored.filter((o) => o.step === s.step).length <= 1 && scored.includes(s);
    s.name = alone && /^(?:score|success)$/.test(s.path) ? s.evaluator : `${s.evaluator}.${s.path}`;
  }
  const order = new Map(steps.map((s, i) => [s.key, i]));
  const sorted = (list: Score[]) => list.toSorted((a, b) => order.get(a.step)! - order.get(b.step)! || a.path.localeCompare(b.path));
  return { cases: [...found.values()], applications, scores: sorted(scored), notes: sorted(all.filter((s) => !scored.includes(s))) };
}

/** meanOf averages the repeats of a case; null if none has the value. */
export function meanOf(values: Values, rows: readonly number[] | undefined): number | null {
  let sum = 0;
  let n = 0;
  for (const i of rows ?? []) {
    const v = asNumber(values?.[i]);
    if (v === null) continue;
    sum += v;
    n++;
  }
  return n ? sum / n : null;
}

/** spreadOf returns the lowest and the highest of the repeats of a case, or null where they are equal. */
export function spreadOf(values: Values, rows: readonly number[]): [number, number] | null {
  const there = rows.map((i) => asNumber(values?.[i])).filter((v) => v !== null);
  if (there.length < 2) return null;
  const low = Math.min(...there);
  const high = Math.max(...there);
  return low === high ? null : [low, high];
}

/** The statuses of a result, in the words of the page. */
export type Stage = 'pending' | 'running' | 'done' | 'failed' | 'cancelled';

export function stageOf(status: unknown): Stage {
  switch (status) {
    case 'success': case 'done': case 'finished': return 'done';
    case 'failure': case 'errors': case 'error': return 'failed';
    case 'running': return 'running';
    case 'cancelled': return 'cancelled';
    default: return 'pending';
  }
}

/** stageOfCase is failed if any step failed, and done if all of them are done. */
export function stageOfCase(sheet: Sheet, one: Case): Stage {
  const columns = [...sheet.applications.map((a) => a.status), ...new Set([...sheet.scores, ...sheet.notes].map((s) => s.status))].filter((c) => c !== undefined);
  const stages = columns.flatMap((c) => one.rows.map((i) => c[i]).filter((v) => v !== null && v !== undefined).map(stageOf));
  for (const stage of ['failed', 'running', 'pending', 'cancelled'] as const) if (stages.includes(stage)) return stage;
  return stages.length ? 'done' : 'pending';
}

/** failures groups the scenarios with failed steps by the steps that are to run again: a failed application takes what scored it along. */
export function failures(sheet: Sheet, steps: readonly Step[]): { scenario_ids: string[]; step_keys: string[] }[] {
  const groups = new Map<string, { scenario_ids: string[]; step_keys: string[] }>();
  const judges = new Map([...sheet.scores, ...sheet.notes].map((s) => [s.step, s]));
  for (const one of sheet.cases) {
    const failed = (values: Values) => one.rows.some((i) => stageOf(values?.[i]) === 'failed');
    const again = new Set<string>();
    for (const a of sheet.applications) {
      if (!failed(a.status)) continue;
      again.add(a.key);
      for (const s of steps) if (s.type === 'annotation' && (sheet.applications.length < 2 || s.inputs?.some((input) => input.key === a.key))) again.add(s.key);
    }
    for (const [key, s] of judges) if (failed(s.status)) again.add(key);
    if (!again.size) continue;
    const keys = [...again].toSorted();
    const group = groups.get(keys.join('\n')) ?? { scenario_ids: [], step_keys: keys };
    group.scenario_ids.push(one.scenario);
    groups.set(keys.join('\n'), group);
  }
  return [...groups.values()];
}

export interface Schema { type?: string; 'x-better'?: 'higher' | 'lower'; title?: string; properties?: Record<string, Schema> }

/** directionOf reports whether more is better; null where the evaluator does not define it. */
export function directionOf(values: readonly unknown[], schema: Schema | undefined): boolean | null {
  if (schema?.['x-better'] === 'lower') return false;
  if (schema?.['x-better'] === 'higher') return true;
  // What is either so or not so says by its name what is good: correct, success, passed.
  return values.some((v) => typeof v === 'boolean') ? true : null;
}

/** A run as a comparison needs it: its cases by testcase, and its columns by their common names. */
export interface Side { cases: Map<string, Case>; columns: Map<string, readonly unknown[]>; directions: Map<string, boolean | null> }

export function sideOf(sheet: Sheet, application?: string): Side {
  const app = sheet.applications.find((a) => a.key === application) ?? sheet.applications[0];
  const columns = new Map<string, readonly unknown[]>();
  const directions = new Map<string, boolean | null>();
  for (const s of sheet.scores) {
    if (s.application !== undefined && s.application !== app?.key) continue;
    columns.set(s.name, s.values);
    directions.set(s.name, directionOf(s.values, s.schema));
  }
  for (const [name, values] of [['latency', app?.latency], ['cost', app?.cost]] as const) {
    if (!values?.some((v) => typeof v === 'number')) continue;
    columns.set(name, values);
    directions.set(name, false);
  }
  return { cases: new Map(sheet.cases.filter((c) => c.testcase).map((c) => [c.testcase, c])), columns, directions };
}

/** pair makes of two runs what the statistics take: for each score of both the cases that all runs have. */
export function pair(base: Side, other: Side, common: readonly string[]): Paired[] {
  const names = [...base.columns.keys()].filter((name) => other.columns.has(name));
  return names.map((name): Paired => ({
    name, boolean: [base, other].some((s) => s.columns.get(name)!.some((v) => typeof v === 'boolean')), higher: base.directions.get(name) ?? other.directions.get(name) ?? null,
    base: common.map((id) => meanOf(base.columns.get(name), base.cases.get(id)?.rows)), other: common.map((id) => meanOf(other.columns.get(name), other.cases.get(id)?.rows)),
  }));
}

/** inCommon lists the testcases that all runs have, and counts those that some lack. */
export function inCommon(sides: readonly Side[]): { common: string[]; only: number } {
  const all = new Set(sides.flatMap((s) => [...s.cases.keys()]));
  const common = [...all].filter((id) => sides.every((s) => s.cases.has(id)));
  return { common, only: all.size - common.length };
}

/** verdict says in a word whether the other run is better by a score, when chance alone is unlikely. */
export function verdict(c: { adjusted: number | null; delta: number | null }, higher: boolean | null): 'better' | 'worse' | 'different' | 'same' {
  if (c.adjusted === null || c.adjusted >= 0.05 || !c.delta) return 'same';
  if (higher === null) return 'different';
  return c.delta > 0 === higher ? 'better' : 'worse';
}
