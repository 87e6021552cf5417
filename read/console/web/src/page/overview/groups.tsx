import { useMemo } from 'react';
import type { Analytics, Bucket } from '../../api/types';
import { SeriesChart, Spark, type Mark, type Series } from '../../kit/chart/series';
import { Link } from '../../kit/link/link';
import { useClock } from '../../shell/clock';
import { address, go } from '../../shell/place';
import { useApi } from '../../shell/session';
import { showCost, showCount, showDuration, showPercent, showScore, showTokens } from '../../url/number';
import { condition, find, leaf, print, toFilter, type Query } from '../../url/query';
import { interval, MINUTE, parseIso } from '../../url/time';
import { ofType } from '../traces/filter';
import { Block } from './block';
import css from './page.module.css';

export const GROUP = { model: 'model', app: 'application', user: 'user_id', env: 'environment', service: 'service', name: 'span_name' } as const;
export type By = keyof typeof GROUP;

const D = 'attributes.ag.metrics.duration.cumulative';
const E = 'attributes.ag.metrics.errors.incremental';
const OWN = 'attributes.ag.metrics.costs.incremental.total';
const OWN_TOKENS = 'attributes.ag.metrics.tokens.incremental.total';
const SCORE = 'attributes.ag.data.outputs.score';
const TOP = 8;

const numbers = (...paths: string[]) => paths.map((path) => ({ type: 'numeric/continuous', path }));

/** useGroups asks for cost, calls and latency by a field of spans, and for the scores that evaluators gave. */
export function useGroups(query: Query | null, by: By, enabled: boolean) {
  const clock = useClock();
  const windowing = { oldest: clock.oldest, newest: clock.newest, interval: interval(clock.from, clock.to) };
  const whole = { oldest: clock.oldest, newest: clock.newest };
  const group = { group_by: [GROUP[by]], top: TOP, order_by: { path: OWN, stat: 'sum' } };
  const costed = toFilter(ofType(query, 'invocation'));
  const grouped = useApi<Analytics>('POST', '/spans/analytics/query', { body: { focus: 'span', filtering: costed, windowing, stats: ['count', 'sum'], ...group, specs: numbers(OWN) } }, { enabled });
  // Percentiles of intervals do not add up: those of the table are of the whole range.
  const table = useApi<Analytics>('POST', '/spans/analytics/query', { body: { focus: 'span', filtering: costed, windowing: whole, stats: ['count', 'count_positive', 'sum', 'p95'], ...group, specs: numbers(OWN, OWN_TOKENS, D, E) } }, { enabled });
  const scores = useApi<Analytics>('POST', '/spans/analytics/query', { body: { focus: 'span', filtering: toFilter(condition('trace_type', 'is', 'annotation')), windowing, stats: ['count', 'mean'], group_by: ['evaluator'], top: 20, specs: numbers(SCORE) } });
  return { grouped, table, scores };
}

type Groups = ReturnType<typeof useGroups>;

/** ByChart stacks cost by a field that the reader chooses. */
export function ByChart({ groups, by, onBy, query, marks }: { groups: Groups; by: By; onBy: (by: By) => void; query: Query | null; marks: readonly Mark[] }) {
  const clock = useClock();
  const { grouped } = groups;
  const buckets = grouped.data?.buckets;
  const series = useMemo(() => groupSeries(buckets ?? [], OWN), [buckets]);
  return (
    <Block error={grouped.error} retry={() => void grouped.refetch()} loading={grouped.isPending}>
      <SeriesChart at={(buckets ?? []).map((b) => parseIso(b.timestamp) ?? 0n)} step={BigInt(interval(clock.from, clock.to)) * MINUTE} from={clock.from} to={clock.to} zone={clock.zone} marks={marks}
        onZoom={(from, to) => clock.setRange({ from, to })} title="Cost by" kind="stack" format={showCost} series={series} onPick={(name) => narrow(query, by, name)}
        extra={<select className={css['by']} aria-label="Cost by" value={by} onChange={(e) => onBy(e.target.value as By)}>{Object.keys(GROUP).map((k) => <option key={k}>{k}</option>)}</select>} />
    </Block>
  );
}

function narrow(query: Query | null, by: By, name: string): void {
  const field = find(by);
  if (!field || name === 'the rest') return;
  const c = leaf(name === 'none' ? condition(field.field, 'not_exists', undefined, field.key) : condition(field.field, 'is', name, field.key));
  go(address('/traces', `focus=spans&q=${encodeURIComponent(query ? `${print(query)} ${c}` : c)}`));
}

/** TopTable has the groups with the highest cost of the whole range. */
export function TopTable({ groups, by, query }: { groups: Groups; by: By; query: Query | null }) {
  const { table } = groups;
  const buckets = table.data?.buckets;
  const rows = useMemo(() => groupTable(buckets ?? []), [buckets]);
  return (
    <Block error={table.error} retry={() => void table.refetch()} loading={table.isPending}>
      <h2>Top by cost</h2>
      {rows.length ? (
        <table className={css['table']}>
          <thead><tr><th>{by}</th><th>spans</th><th>tokens</th><th>cost</th><th>share</th><th>p95</th><th>errors</th></tr></thead>
          <tbody>{rows.map((r) => <tr key={r.name}><th>{r.name === 'the rest' ? r.name : <button type="button" onClick={() => narrow(query, by, r.name)}>{r.name}</button>}</th><td>{showCount(r.calls)}</td><td>{showTokens(r.tokens)}</td><td>{showCost(r.cost)}</td><td>{showPercent(r.share, 0)}</td><td>{showDuration(r.p95)}</td><td>{showCount(r.errors)}</td></tr>)}</tbody>
        </table>
      ) : <p className={css['none']}>Nothing in this range has a {by}.</p>}
    </Block>
  );
}

/** Scores has the mean of each evaluator, and how it went. */
export function Scores({ groups }: { groups: Groups }) {
  const { scores } = groups;
  const buckets = scores.data?.buckets;
  const rows = useMemo(() => scoreTable(buckets ?? []), [buckets]);
  return (
    <Block error={scores.error} retry={() => void scores.refetch()} loading={scores.isPending}>
      <h2>Scores</h2>
      {rows.length ? (
        <table className={css['table']}>
          <thead><tr><th>evaluator</th><th>mean</th><th>n</th><th>over time</th></tr></thead>
          <tbody>{rows.map((r) => <tr key={r.name}><th><Link to="/traces" state={`focus=annotations&q=${encodeURIComponent(leaf(condition('attributes', 'is', r.name, 'ag.references.evaluator.slug')))}`}>{r.name}</Link></th><td>{showScore(r.mean)}</td><td>{showCount(r.n)}</td><td><Spark values={r.values} /></td></tr>)}</tbody>
        </table>
      ) : <p className={css['none']}>No evaluator gave a score in this range.</p>}
    </Block>
  );
}

const nameOf = (key: (string | null)[] | null) => (key === null ? 'the rest' : (key[0] ?? 'none'));

function groupSeries(buckets: readonly Bucket[], path: string): Series[] {
  const names = [...new Set(buckets.flatMap((b) => (b.groups ?? []).map((g) => nameOf(g.key))))].toSorted((a, b) => Number(a === 'the rest') - Number(b === 'the rest'));
  return names.map((name, i) => ({ name, colour: name === 'the rest' ? 'line-strong' : `series-${(i % 8) + 1}`, values: buckets.map((b) => b.groups?.find((g) => nameOf(g.key) === name)?.metrics[path]?.sum ?? 0) }));
}

function groupTable(buckets: readonly Bucket[]) {
  const all = new Map<string, { name: string; calls: number; tokens: number; cost: number; errors: number; p95: number | null }>();
  for (const b of buckets) {
    for (const g of b.groups ?? []) {
      const name = nameOf(g.key);
      const row = all.get(name) ?? { name, calls: 0, tokens: 0, cost: 0, errors: 0, p95: null };
      row.calls += g.metrics[D]?.count ?? 0;
      row.tokens += g.metrics[OWN_TOKENS]?.sum ?? 0;
      row.cost += g.metrics[OWN]?.sum ?? 0;
      row.errors += g.metrics[E]?.count_positive ?? 0;
      row.p95 = g.metrics[D]?.p95 ?? row.p95;
      all.set(name, row);
    }
  }
  const sum = [...all.values()].reduce((n, r) => n + r.cost, 0);
  return [...all.values()].map((r) => ({ ...r, share: sum ? r.cost / sum : null })).toSorted((a, b) => b.cost - a.cost);
}

function scoreTable(buckets: readonly Bucket[]) {
  const names = [...new Set(buckets.flatMap((b) => (b.groups ?? []).filter((g) => g.key).map((g) => nameOf(g.key))))];
  return names.map((name) => {
    const values = buckets.map((b) => b.groups?.find((g) => nameOf(g.key) === name)?.metrics[SCORE]);
    const n = values.reduce((sum, m) => sum + (m?.count ?? 0), 0);
    return { name, n, mean: n ? values.reduce((sum, m) => sum + (m?.mean ?? 0) * (m?.count ?? 0), 0) / n : null, values: values.map((m) => m?.mean ?? null) };
  }).filter((r) => r.n > 0);
}
