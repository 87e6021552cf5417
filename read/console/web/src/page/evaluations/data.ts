// What the pages of evaluations ask.

import { useMemo } from 'react';
import { useQueries } from '@tanstack/react-query';
import type { ApiError } from '../../api/errors';
import type { Metric } from '../../api/types';
import { client, projectId, useApi } from '../../shell/session';
import type { Grid, Step } from './sheet';

export interface Run {
  id: string;
  name?: string;
  description?: string;
  status?: string;
  flags?: Record<string, boolean>;
  created_at: string;
  created_by_id?: string;
  updated_at?: string;
  data?: { steps?: Step[]; repeats?: number };
}

export const stepsOf = (run: Run | undefined): readonly Step[] => run?.data?.steps ?? [];

/** underWay reports whether a run still changes by itself. */
export const underWay = (run: Run | undefined) => run?.status === 'running' || run?.status === 'queued' || (run?.status === 'pending' && run.flags?.['is_active'] === true);

/** useRuns lists the latest runs, without those behind annotation queues. */
export function useRuns() {
  const found = useApi<{ runs?: Run[] }>('POST', '/evaluations/runs/query', { body: { windowing: { limit: 200, order: 'descending' } } });
  const runs = useMemo(() => (found.data?.runs ?? []).filter((r) => !r.flags?.['is_queue']), [found.data]);
  return { found, runs };
}

interface Metrics { metrics?: { run_id: string; data?: Record<string, Record<string, Metric>> }[] }

const OUTPUTS = 'attributes.ag.data.outputs.';

export interface Means { scores: Map<string, { mean: number; n: number }>; cost: number | null; latency: number | null; errors: number | null }

/** useMeans asks for the metrics of whole runs: what each evaluator gave on average, and what the answers cost. */
export function useMeans(runs: readonly Run[]) {
  const ids = runs.map((r) => r.id);
  const found = useApi<Metrics>('POST', '/evaluations/metrics/query', { body: { metrics: { run_ids: ids, scenario_ids: false }, windowing: { limit: 1000 } } }, { enabled: ids.length > 0 });
  const means = useMemo(() => {
    const all = new Map<string, Means>();
    for (const row of found.data?.metrics ?? []) {
      const run = runs.find((r) => r.id === row.run_id);
      if (run) all.set(run.id, readMeans(row.data ?? {}, stepsOf(run)));
    }
    return all;
  }, [found.data, runs]);
  return { found, means };
}

export function readMeans(data: Record<string, Record<string, Metric>>, steps: readonly Step[]): Means {
  const out: Means = { scores: new Map(), cost: null, latency: null, errors: null };
  const add = (a: number | null, b: number | undefined) => (b === undefined ? a : (a ?? 0) + b);
  for (const step of steps) {
    const metrics = data[step.key] ?? {};
    if (step.type === 'invocation') {
      out.cost = add(out.cost, metrics['attributes.ag.metrics.costs.cumulative.total']?.sum);
      out.latency ??= metrics['attributes.ag.metrics.duration.cumulative']?.mean ?? null;
      out.errors = add(out.errors, metrics['attributes.ag.metrics.errors.cumulative']?.sum);
    } else if (step.type === 'annotation') {
      const slug = step.references['evaluator']?.slug ?? step.key;
      for (const [path, metric] of Object.entries(metrics)) {
        if (!path.startsWith(OUTPUTS)) continue;
        const name = path.slice(OUTPUTS.length);
        const yes = metric.freq?.find((f) => f.value === true)?.density;
        const mean = metric.mean ?? yes ?? (metric.freq?.some((f) => f.value === false) ? 0 : undefined);
        if (mean === undefined) continue;
        out.scores.set(/^(?:score|success)$/.test(name) ? slug : `${slug}.${name}`, { mean, n: metric.count ?? 0 });
      }
    }
  }
  return out;
}

const PAGE = 10_000;

/** useGrids asks for the grids of runs, each with all its pages. */
export function useGrids(runs: readonly string[], refetchInterval: number | false): { grids: (Grid | undefined)[]; error: ApiError | null; pending: boolean; again: () => void } {
  const found = useQueries({
    queries: runs.map((run) => ({
      queryKey: [projectId(), 'POST', '/evaluations/grid', run],
      queryFn: ({ signal }: { signal: AbortSignal }) => wholeGrid(run, signal),
      refetchInterval, staleTime: refetchInterval ? 0 : 30_000,
    })),
  });
  return {
    grids: found.map((f) => f.data), error: (found.find((f) => f.error)?.error as ApiError | undefined) ?? null, pending: found.some((f) => f.isPending),
    again: () => { for (const f of found) void f.refetch(); },
  };
}

async function wholeGrid(run: string, signal: AbortSignal): Promise<Grid> {
  let whole: Grid | undefined;
  for (let next: string | undefined; ;) {
    const page = await client.call<Grid>('POST', '/evaluations/grid', { body: { run_ids: [run], windowing: { limit: PAGE, ...(next && { next }) } }, signal });
    whole = whole ? joined(whole, page) : page;
    next = page.windowing?.next;
    if (!next) return whole;
  }
}

/** joined puts the rows of one page behind those of another; a column that one lacks is null there. */
export function joined(a: Grid, b: Grid): Grid {
  const length = (g: Grid) => Math.max(0, ...Object.values(g.columns).map((c) => c.length));
  const names = new Set([...Object.keys(a.columns), ...Object.keys(b.columns)]);
  const none = (n: number) => Array.from({ length: n }, () => null);
  return { count: a.count + b.count, schemas: { ...a.schemas, ...b.schemas }, columns: Object.fromEntries([...names].map((name) => [name, [...(a.columns[name] ?? none(length(a))), ...(b.columns[name] ?? none(length(b)))]])) };
}

export interface Result { id: string; scenario_id: string; step_key: string; repeat_idx: number; status: string; trace_id?: string; span_id?: string; testcase_id?: string; error?: { message?: string } }

/** resultsOf returns the results of one case: their statuses, traces and errors. */
export function useResults(run: string, scenario: string | undefined) {
  return useApi<{ results?: Result[] }>('POST', `/simple/evaluations/${run}/probe`, { body: { scenario_ids: scenario ? [scenario] : [] } }, { enabled: scenario !== undefined, keep: false });
}
