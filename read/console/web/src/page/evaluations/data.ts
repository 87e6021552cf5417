// The grid of runs in columns (S7), and what is computed of it.

import type { Compared, Paired } from '../../worker/stats';

export interface Grid { count: number; columns: Record<string, readonly unknown[]>; windowing?: { next?: string }; schemas?: Record<string, { type?: string; 'x-better'?: 'higher' | 'lower' }> }

export interface Evaluation { id: string; name?: string; version?: string; created_at: string; flags?: Record<string, boolean>; status?: string; data?: { status?: string; concurrency?: number; repeats?: number; testset_steps?: unknown; application_steps?: unknown; evaluator_steps?: unknown }; description?: string }

/** Columns that every grid has; all others are outputs of evaluators, as <step>.<path>. */
export const FIXED = ['run_id', 'scenario_id', 'testcase_id', 'repeat', 'status', 'trace_id', 'annotation_trace_id', 'latency_ms', 'cost', 'preview.inputs', 'preview.expected', 'preview.outputs'];

export function scoresOf(grid: Grid): string[] {
  return Object.entries(grid.columns).filter(([name, values]) => !FIXED.includes(name) && values.some((v) => typeof v === 'number' || typeof v === 'boolean')).map(([name]) => name);
}

export const asNumber = (v: unknown): number | null => (typeof v === 'number' ? v : typeof v === 'boolean' ? Number(v) : null);

export interface Case { id: string; label: string; expected: string; rows: Record<string, number[]> }

/** cases gathers rows of several runs by testcase: for each run the positions of its repeats. */
export function cases(grid: Grid): Map<string, Case> {
  const found = new Map<string, Case>();
  const ids = grid.columns['testcase_id'] ?? [];
  const runs = grid.columns['run_id'] ?? [];
  ids.forEach((id, i) => {
    if (typeof id !== 'string') return;
    let one = found.get(id);
    if (!one) {
      one = { id, label: String(grid.columns['preview.inputs']?.[i] ?? id), expected: String(grid.columns['preview.expected']?.[i] ?? ''), rows: {} };
      found.set(id, one);
    }
    (one.rows[String(runs[i])] ??= []).push(i);
  });
  return found;
}

/** meanOf averages the repeats of a case; null where none has the value. */
export function meanOf(values: readonly unknown[] | undefined, rows: readonly number[] | undefined): number | null {
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

/** pairs makes of a grid what the statistics take: for each score the cases that both runs have. */
export function pairs(grid: Grid, base: string, other: string): { common: Case[]; only: number; scores: Paired[] } {
  const all = [...cases(grid).values()];
  const common = all.filter((c) => c.rows[base] && c.rows[other]);
  const names = [...scoresOf(grid), 'latency_ms', 'cost'].filter((name) => grid.columns[name]);
  const scores = names.map((name): Paired => ({
    name, boolean: (grid.columns[name] ?? []).some((v) => typeof v === 'boolean'), higher: better(grid, name),
    base: common.map((c) => meanOf(grid.columns[name], c.rows[base])), other: common.map((c) => meanOf(grid.columns[name], c.rows[other])),
  }));
  return { common, only: all.filter((c) => (c.rows[base] || c.rows[other]) && !(c.rows[base] && c.rows[other])).length, scores };
}

/** better says whether more is better; null if the evaluator does not define it. */
export function better(grid: Grid, name: string): boolean | null {
  if (name === 'latency_ms' || name === 'cost') return false;
  const direction = grid.schemas?.[name]?.['x-better'];
  return direction === 'lower' ? false : direction === 'higher' ? true : (grid.columns[name] ?? []).some((v) => typeof v === 'boolean') ? true : null;
}

/** verdict says in a word whether the other run is better by a score, when chance alone is unlikely. */
export function verdict(c: Compared, higher: boolean | null): 'better' | 'worse' | 'different' | 'same' {
  if (c.adjusted === null || c.adjusted >= 0.05 || !c.delta) return 'same';
  if (higher === null) return 'different';
  return c.delta > 0 === higher ? 'better' : 'worse';
}
