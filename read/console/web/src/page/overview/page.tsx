import { useMemo } from 'react';
import type { Analytics, Bucket, Metric, RejectedSummary } from '../../api/types';
import { SeriesChart } from '../../kit/chart/series';
import { Link } from '../../kit/link/link';
import { QueryBar } from '../../kit/query/bar';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { Ago } from '../../kit/value/value';
import { useClock } from '../../shell/clock';
import { useApi } from '../../shell/session';
import { useTitle } from '../../shell/shell';
import { showChange, showCost, showCount, showDuration, showPercent, showTokens } from '../../url/number';
import { condition, group, parse, toFilter } from '../../url/query';
import { text, word } from '../../url/state';
import { interval, MINUTE, parseIso, printIso } from '../../url/time';
import { useUrlState } from '../../url/use';
import { Block } from './block';
import { ByChart, Scores, TopTable, useGroups } from './groups';
import { useDeploys } from './use-deploys';
import { rowsOf } from '../traces/data';
import { ofType } from '../traces/filter';
import type { Columns } from '../../api/types';
import css from './page.module.css';

const schema = { q: text(), by: word(['model', 'app', 'user', 'env', 'service', 'name'], 'model') };

const D = 'attributes.ag.metrics.duration.cumulative';
const E = 'attributes.ag.metrics.errors.cumulative';
const C = 'attributes.ag.metrics.costs.cumulative.total';
const T = 'attributes.ag.metrics.tokens.cumulative';

const numbers = (...paths: string[]) => paths.map((path) => ({ type: 'numeric/continuous', path }));

/** Overview answers: is it well, what does it cost, what changed. Each block fails alone. */
export default function Overview() {
  useTitle('Overview');
  const clock = useClock();
  const [{ q, by }, set] = useUrlState(schema);
  const parsed = useMemo(() => parse(q), [q]);
  const own = parsed.ok ? parsed.query : null;
  const filtering = toFilter(ofType(own, 'invocation'));
  const minutes = interval(clock.from, clock.to);
  const step = BigInt(minutes) * MINUTE;
  const windowing = { oldest: clock.oldest, newest: clock.newest, interval: minutes };
  const specs = numbers(D, E, C, `${T}.prompt`, `${T}.cached`, `${T}.completion`, `${T}.total`);
  const stats = ['count', 'count_positive', 'sum', 'p50', 'p95', 'p99'];
  const enabled = parsed.ok;
  const f = { filtering };
  const main = useApi<Analytics>('POST', '/spans/analytics/query', { body: { focus: 'trace', ...f, windowing, stats, specs } }, { enabled });
  const length = clock.to - clock.from;
  // Percentiles of intervals do not add up: those of the whole range are asked as one.
  const whole = useApi<Analytics>('POST', '/spans/analytics/query', { body: { focus: 'trace', ...f, windowing: { oldest: clock.oldest, newest: clock.newest }, stats, specs } }, { enabled });
  const before = useApi<Analytics>('POST', '/spans/analytics/query', { body: { focus: 'trace', ...f, windowing: { oldest: printIso(clock.from - length), newest: clock.oldest }, stats, specs } }, { enabled });
  const rejected = useApi<RejectedSummary>('GET', '/rejected-spans/summary', { query: { oldest: clock.oldest, newest: clock.newest } });
  const deploys = useDeploys();
  const groups = useGroups(own, by, enabled);
  const p95 = whole.data?.buckets[0]?.metrics[D]?.p95;
  const slow = toFilter(ofType(own ? group('and', [own, condition('attributes', 'gte', p95 ?? 0, 'ag.metrics.duration.cumulative')]) : condition('attributes', 'gte', p95 ?? 0, 'ag.metrics.duration.cumulative'), 'invocation'));
  const slowest = useApi<Columns>('POST', '/traces/query', { body: { filtering: slow, windowing: { oldest: clock.oldest, newest: clock.newest, limit: 100 }, select: ['trace_id', 'span_name', 'start_time', 'duration_ms', 'preview.inputs'], preview: 80 } }, { enabled: enabled && p95 !== undefined });
  const failing = toFilter(ofType(own ? group('and', [own, condition('status_code', 'is', 'STATUS_CODE_ERROR')]) : condition('status_code', 'is', 'STATUS_CODE_ERROR'), 'invocation'));
  const errors = useApi<Columns>('POST', '/traces/query', { body: { filtering: failing, windowing: { oldest: clock.oldest, newest: clock.newest, limit: 50 }, select: ['trace_id', 'span_name', 'status_message', 'start_time'] } }, { enabled });

  const buckets = main.data?.buckets ?? [];
  const at = buckets.map((b) => parseIso(b.timestamp) ?? 0n);
  const of = (path: string, stat: keyof Metric) => buckets.map((b) => (b.metrics[path]?.[stat] as number | undefined) ?? null);
  const now = useMemo(() => sums(whole.data?.buckets ?? []), [whole.data]);
  const past = useMemo(() => sums(before.data?.buckets ?? []), [before.data]);
  const chart = { at, step, from: clock.from, to: clock.to, zone: clock.zone, marks: deploys, onZoom: (from: bigint, to: bigint) => clock.setRange({ from, to }) };
  const slowRows = useMemo(() => (slowest.data ? rowsOf(slowest.data) : []).toSorted((a, b) => Number(b['duration_ms']) - Number(a['duration_ms'])).slice(0, 8), [slowest.data]);
  const messages = useMemo(() => grouping(errors.data ? rowsOf(errors.data) : []), [errors.data]);
  const ok = of(D, 'count').map((n, i) => (n === null ? null : n - (of(E, 'count_positive')[i] ?? 0)));

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
          <ByChart groups={groups} by={by} onBy={(next) => set({ by: next })} query={own} marks={deploys} />
          <Block error={main.error} retry={() => void main.refetch()} loading={main.isPending}><SeriesChart {...chart} title="Tokens" kind="stack" format={showTokens} series={[
            { name: 'prompt', values: of(`${T}.prompt`, 'sum').map((n, i) => (n === null ? null : n - (of(`${T}.cached`, 'sum')[i] ?? 0))), colour: 'series-6' }, { name: 'cached', values: of(`${T}.cached`, 'sum'), colour: 'series-3' }, { name: 'completion', values: of(`${T}.completion`, 'sum'), colour: 'series-2' }]} /></Block>
          <TopTable groups={groups} by={by} query={own} />
          <Scores groups={groups} />
          <Block error={slowest.error} retry={() => void slowest.refetch()} loading={slowest.isPending && p95 !== undefined}>
            <h2>Slowest</h2>
            {slowRows.length ? (
              <table className={css['table']}>
                <thead><tr><th>trace</th><th>duration</th><th>when</th></tr></thead>
                <tbody>{slowRows.map((r) => <tr key={String(r['trace_id'])}><th><Link to={`/traces/${String(r['trace_id'])}`}>{String(r['span_name'])}</Link> <span className={css['dim']}>{String(r['preview.inputs'] ?? '')}</span></th><td>{showDuration(Number(r['duration_ms']))}</td><td><Ago at={String(r['start_time'])} /></td></tr>)}</tbody>
              </table>
            ) : <p className={css['none']}>No traces in this range.</p>}
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

function sums(buckets: readonly Bucket[]) {
  const sum = (path: string, stat: 'count' | 'sum' | 'count_positive') => buckets.reduce((n, b) => n + (b.metrics[path]?.[stat] ?? 0), 0);
  return { count: sum(D, 'count'), bad: sum(E, 'count_positive'), tokens: sum(`${T}.total`, 'sum'), cost: sum(C, 'sum'), p50: buckets[0]?.metrics[D]?.p50 ?? null, p95: buckets[0]?.metrics[D]?.p95 ?? null };
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
