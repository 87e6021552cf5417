import { useMemo, type ReactNode } from 'react';
import type { Analytics, Bucket, Metric, RejectedSummary } from '../../api/types';
import { SeriesChart, Spark, type Series } from '../../kit/chart/series';
import { Link } from '../../kit/link/link';
import { QueryBar } from '../../kit/query/bar';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { Ago } from '../../kit/value/value';
import { useClock } from '../../shell/clock';
import { address, go } from '../../shell/place';
import { useApi } from '../../shell/session';
import { useTitle } from '../../shell/shell';
import { showChange, showCost, showCount, showDuration, showPercent, showScore, showTokens } from '../../url/number';
import { condition, find, group, leaf, parse, print, toFilter, type Query } from '../../url/query';
import { text, word } from '../../url/state';
import { interval, MINUTE, parseIso, printIso } from '../../url/time';
import { useUrlState } from '../../url/use';
import { rowsOf } from '../traces/data';
import type { Columns } from '../../api/types';
import css from './page.module.css';

const schema = { q: text(), by: word(['model', 'app', 'user', 'env', 'service', 'name'], 'model') };
const GROUP = { model: 'model', app: 'application', user: 'user_id', env: 'environment', service: 'service', name: 'span_name' } as const;

const D = 'attributes.ag.metrics.duration.cumulative';
const E = 'attributes.ag.metrics.errors.cumulative';
const C = 'attributes.ag.metrics.costs.cumulative.total';
const T = 'attributes.ag.metrics.tokens.cumulative';
const OWN = 'attributes.ag.metrics.costs.incremental.total';
const OWN_TOKENS = 'attributes.ag.metrics.tokens.incremental.total';
const SCORE = 'attributes.ag.data.outputs.score';
const TOP = 8;

const numbers = (...paths: string[]) => paths.map((path) => ({ type: 'numeric/continuous', path }));

/** Overview answers: is it well, what does it cost, what changed. Each block fails alone. */
export default function Overview() {
  useTitle('Overview');
  const clock = useClock();
  const [{ q, by }, set] = useUrlState(schema);
  const parsed = useMemo(() => parse(q), [q]);
  const own = parsed.ok ? parsed.query : null;
  const filtering = toFilter(own);
  const minutes = interval(clock.from, clock.to);
  const step = BigInt(minutes) * MINUTE;
  const windowing = { oldest: clock.oldest, newest: clock.newest, interval: minutes };
  const specs = numbers(D, E, C, `${T}.prompt`, `${T}.cached`, `${T}.completion`, `${T}.total`);
  const stats = ['count', 'count_positive', 'sum', 'p50', 'p95', 'p99'];
  const enabled = parsed.ok;
  const f = filtering ? { filtering } : {};
  const main = useApi<Analytics>('POST', '/spans/analytics/query', { body: { focus: 'trace', ...f, windowing, stats, specs } }, { enabled });
  const length = clock.to - clock.from;
  // Percentiles of intervals do not add up: those of the whole range are asked as one.
  const whole = useApi<Analytics>('POST', '/spans/analytics/query', { body: { focus: 'trace', ...f, windowing: { oldest: clock.oldest, newest: clock.newest }, stats, specs } }, { enabled });
  const before = useApi<Analytics>('POST', '/spans/analytics/query', { body: { focus: 'trace', ...f, windowing: { oldest: printIso(clock.from - length), newest: clock.oldest }, stats, specs } }, { enabled });
  const grouped = useApi<Analytics>('POST', '/spans/analytics/query', { body: { focus: 'span', ...f, windowing, stats: ['count', 'sum'], group_by: [GROUP[by]], top: TOP, order_by: { path: OWN, stat: 'sum' }, specs: numbers(OWN, OWN_TOKENS, D) } }, { enabled });
  const annotation: Query = condition('trace_type', 'is', 'annotation');
  const scores = useApi<Analytics>('POST', '/spans/analytics/query', { body: { focus: 'span', filtering: toFilter(annotation), windowing, stats: ['count', 'mean'], group_by: ['evaluator'], top: 20, specs: numbers(SCORE) } });
  const rejected = useApi<RejectedSummary>('GET', '/rejected-spans/summary', { query: { oldest: clock.oldest, newest: clock.newest } });
  const failing = toFilter(own ? group('and', [own, condition('status_code', 'is', 'STATUS_CODE_ERROR')]) : condition('status_code', 'is', 'STATUS_CODE_ERROR'));
  const errors = useApi<Columns>('POST', '/traces/query', { body: { filtering: failing, windowing: { oldest: clock.oldest, newest: clock.newest, limit: 50 }, select: ['trace_id', 'span_name', 'status_message', 'start_time'] } }, { enabled });

  const buckets = main.data?.buckets ?? [];
  const at = buckets.map((b) => parseIso(b.timestamp) ?? 0n);
  const of = (path: string, stat: keyof Metric) => buckets.map((b) => (b.metrics[path]?.[stat] as number | undefined) ?? null);
  const now = useMemo(() => sums(whole.data?.buckets ?? []), [whole.data]);
  const past = useMemo(() => sums(before.data?.buckets ?? []), [before.data]);
  const chart = { at, step, from: clock.from, to: clock.to, zone: clock.zone, onZoom: (from: bigint, to: bigint) => clock.setRange({ from, to }) };
  const narrow = (name: string) => {
    const field = find(by);
    if (!field || name === 'the rest') return;
    const c = condition(field.field, 'is', name, field.key);
    go(address('/traces', `focus=spans&q=${encodeURIComponent(own ? `${print(own)} ${leaf(c)}` : leaf(c))}`));
  };

  const groups = useMemo(() => groupSeries(grouped.data?.buckets ?? [], OWN), [grouped.data]);
  const groupAt = (grouped.data?.buckets ?? []).map((b) => parseIso(b.timestamp) ?? 0n);
  const table = useMemo(() => groupTable(grouped.data?.buckets ?? []), [grouped.data]);
  const scoreRows = useMemo(() => scoreTable(scores.data?.buckets ?? []), [scores.data]);
  const messages = useMemo(() => grouping(errors.data ? rowsOf(errors.data) : []), [errors.data]);
  const ok = of(E, 'count').map((n, i) => (n === null ? null : n - (of(E, 'count_positive')[i] ?? 0)));

  return (
    <div className={css['page']}>
      <h1 className="sr">Overview</h1>
      <QueryBar value={q} onChange={(t) => set({ q: t })} />
      {whole.error ? <Failure error={whole.error} retry={() => void whole.refetch()} /> : whole.isPending ? <Skeleton rows={3} widths={[18, 18, 18, 18, 18]} /> : (
        <dl className={css['cards']} data-dimmed={whole.isPlaceholderData || undefined}>
          <Card title="Traces" value={showCount(now.count)} change={showChange(now.count, past.count)} to="/traces" state={q && `q=${encodeURIComponent(q)}`} />
          <Card title="Errors" value={showPercent(now.count ? now.bad / now.count : null)} change={showChange(now.count ? now.bad / now.count : null, past.count ? past.bad / past.count : null)} badUp to="/traces" state={`q=${encodeURIComponent(`${q} status:error`.trim())}`} />
          <Card title="Latency p50" value={showDuration(now.p50)} change={showChange(now.p50, past.p50)} badUp />
          <Card title="Latency p95" value={showDuration(now.p95)} change={showChange(now.p95, past.p95)} badUp />
          <Card title="Tokens" value={showTokens(now.tokens)} change={showChange(now.tokens, past.tokens)} />
          <Card title="Cost" value={showCost(now.cost)} change={showChange(now.cost, past.cost)} badUp />
        </dl>
      )}
      {whole.isSuccess && now.count === 0 ? <Empty title="No traces in this range.">Send some, or choose a wider range. <Link to="/traces">Traces</Link> shows how.</Empty> : (
        <div className={css['grid']}>
          <Block error={main.error} retry={() => void main.refetch()} loading={main.isPending}><SeriesChart {...chart} title="Traffic and errors" kind="stack" format={showCount} series={[{ name: 'errors', values: of(E, 'count_positive'), colour: 'bad' }, { name: 'without', values: ok, colour: 'series-1' }]} /></Block>
          <Block error={main.error} retry={() => void main.refetch()} loading={main.isPending}><SeriesChart {...chart} title="Latency" kind="line" format={showDuration} series={[{ name: 'p50', values: of(D, 'p50'), colour: 'series-3' }, { name: 'p95', values: of(D, 'p95'), colour: 'series-1' }, { name: 'p99', values: of(D, 'p99'), colour: 'series-4', dash: '4 3' }]} /></Block>
          <Block error={grouped.error} retry={() => void grouped.refetch()} loading={grouped.isPending}>
            <SeriesChart {...chart} at={groupAt} title="Cost by" kind="stack" format={showCost} series={groups} onPick={narrow}
              extra={<select className={css['by']} aria-label="Cost by" value={by} onChange={(e) => set({ by: e.target.value as typeof by })}>{Object.keys(GROUP).map((k) => <option key={k}>{k}</option>)}</select>} />
          </Block>
          <Block error={main.error} retry={() => void main.refetch()} loading={main.isPending}><SeriesChart {...chart} title="Tokens" kind="stack" format={showTokens} series={[
            { name: 'prompt', values: of(`${T}.prompt`, 'sum').map((n, i) => (n === null ? null : n - (of(`${T}.cached`, 'sum')[i] ?? 0))), colour: 'series-6' }, { name: 'cached', values: of(`${T}.cached`, 'sum'), colour: 'series-3' }, { name: 'completion', values: of(`${T}.completion`, 'sum'), colour: 'series-2' }]} /></Block>
          <Block error={grouped.error} retry={() => void grouped.refetch()} loading={grouped.isPending}>
            <h2>Top by cost</h2>
            <table className={css['table']}>
              <thead><tr><th>{by}</th><th>calls</th><th>tokens</th><th>cost</th><th>share</th></tr></thead>
              <tbody>{table.map((r) => <tr key={r.name}><th><button type="button" onClick={() => narrow(r.name)}>{r.name}</button></th><td>{showCount(r.calls)}</td><td>{showTokens(r.tokens)}</td><td>{showCost(r.cost)}</td><td>{showPercent(r.share, 0)}</td></tr>)}</tbody>
            </table>
          </Block>
          <Block error={scores.error} retry={() => void scores.refetch()} loading={scores.isPending}>
            <h2>Scores</h2>
            {scoreRows.length ? (
              <table className={css['table']}>
                <thead><tr><th>evaluator</th><th>mean</th><th>n</th><th>over time</th></tr></thead>
                <tbody>{scoreRows.map((r) => <tr key={r.name}><th><Link to="/traces" state={`focus=annotations&q=${encodeURIComponent(leaf(condition('attributes', 'is', r.name, 'ag.references.evaluator.slug')))}`}>{r.name}</Link></th><td>{showScore(r.mean)}</td><td>{showCount(r.n)}</td><td><Spark values={r.values} /></td></tr>)}</tbody>
              </table>
            ) : <p className={css['none']}>No evaluator gave a score in this range.</p>}
          </Block>
          <Block error={errors.error} retry={() => void errors.refetch()} loading={errors.isPending}>
            <h2>Latest errors</h2>
            {messages.length ? (
              <table className={css['table']}>
                <thead><tr><th>message</th><th>traces</th><th>last</th></tr></thead>
                <tbody>{messages.map((m) => <tr key={m.text}><th><Link to={`/traces/${m.trace}`}>{m.text}</Link></th><td>{m.count}</td><td><Ago at={m.last} /></td></tr>)}</tbody>
              </table>
            ) : <p className={css['none']}>No errors in this range.</p>}
          </Block>
          <Block error={rejected.error} retry={() => void rejected.refetch()} loading={rejected.isPending}>
            <h2>Did not arrive</h2>
            {rejected.data?.reasons.length ? (
              <table className={css['table']}>
                <thead><tr><th>reason</th><th>where</th><th>spans</th></tr></thead>
                <tbody>{rejected.data.reasons.map((r) => <tr key={r.stage + r.reason}><th>{r.reason}</th><td>{r.stage}</td><td>{showCount(r.count)}</td></tr>)}</tbody>
              </table>
            ) : <p className={css['none']}>Every span of this range was stored.</p>}
          </Block>
        </div>
      )}
    </div>
  );
}

function Card({ title, value, change, badUp, to, state }: { title: string; value: string; change: { text: string; up: boolean } | undefined; badUp?: boolean; to?: string; state?: string }) {
  return (
    <div>
      <dt>{to ? <Link to={to} {...(state && { state })}>{title}</Link> : title}</dt>
      <dd>{value}{change && <small data-look={badUp ? (change.up ? 'bad' : 'good') : undefined} title="against the range before">{change.text}</small>}</dd>
    </div>
  );
}

function Block({ children, error, retry, loading }: { children: ReactNode; error?: Error | null; retry?: () => void; loading?: boolean }) {
  return <section className={css['block']}>{error ? <Failure compact error={error} {...(retry && { retry })} /> : loading ? <Skeleton rows={5} widths={[40, 20, 20]} /> : children}</section>;
}

function sums(buckets: readonly Bucket[]) {
  const sum = (path: string, stat: 'count' | 'sum' | 'count_positive') => buckets.reduce((n, b) => n + (b.metrics[path]?.[stat] ?? 0), 0);
  return { count: sum(E, 'count') || sum(D, 'count'), bad: sum(E, 'count_positive'), tokens: sum(`${T}.total`, 'sum'), cost: sum(C, 'sum'), p50: buckets[0]?.metrics[D]?.p50 ?? null, p95: buckets[0]?.metrics[D]?.p95 ?? null };
}

const nameOf = (key: (string | null)[] | null) => (key === null ? 'the rest' : (key[0] ?? 'none'));

function groupSeries(buckets: readonly Bucket[], path: string): Series[] {
  const names = [...new Set(buckets.flatMap((b) => (b.groups ?? []).map((g) => nameOf(g.key))))].toSorted((a, b) => Number(a === 'the rest') - Number(b === 'the rest'));
  return names.map((name, i) => ({ name, colour: name === 'the rest' ? 'line-strong' : `series-${(i % 8) + 1}`, values: buckets.map((b) => b.groups?.find((g) => nameOf(g.key) === name)?.metrics[path]?.sum ?? 0) }));
}

function groupTable(buckets: readonly Bucket[]) {
  const all = new Map<string, { name: string; calls: number; tokens: number; cost: number }>();
  for (const b of buckets) {
    for (const g of b.groups ?? []) {
      const name = nameOf(g.key);
      const row = all.get(name) ?? { name, calls: 0, tokens: 0, cost: 0 };
      row.calls += g.metrics[D]?.count ?? 0;
      row.tokens += g.metrics[OWN_TOKENS]?.sum ?? 0;
      row.cost += g.metrics[OWN]?.sum ?? 0;
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
  });
}

function grouping(rows: readonly Record<string, unknown>[]) {
  const all = new Map<string, { text: string; count: number; last: string; trace: string }>();
  for (const row of rows) {
    const message = String(row['status_message'] ?? row['span_name'] ?? 'error');
    const one = all.get(message);
    if (one) one.count++;
    else all.set(message, { text: message, count: 1, last: String(row['start_time']), trace: String(row['trace_id']) });
  }
  return [...all.values()].toSorted((a, b) => b.count - a.count).slice(0, 8);
}
