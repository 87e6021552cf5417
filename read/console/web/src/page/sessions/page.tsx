import { useMemo, useState } from 'react';
import type { Columns, Windowing } from '../../api/types';
import { Button } from '../../kit/button/button';
import { Link } from '../../kit/link/link';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { Table, type Column } from '../../kit/table/table';
import { Ago, Cost, Duration, SpanType, Status, Time, Tokens } from '../../kit/value/value';
import { useClock } from '../../shell/clock';
import { useKeys } from '../../shell/keys';
import { address, go } from '../../shell/place';
import { useApi } from '../../shell/session';
import { useTitle } from '../../shell/shell';
import { showCost, showCount, showDuration, showTokens } from '../../url/number';
import { condition, group, toFilter } from '../../url/query';
import { sort } from '../../url/state';
import { useUrlState } from '../../url/use';
import { parseIso } from '../../url/time';
import { rowsOf } from '../traces/data';
import css from './page.module.css';

type Of = 'session' | 'user';

/** What the service sums up of a session or a user within the range. */
interface Totals { id: string; first?: string; last?: string; traces?: number; errors?: number; tokens?: number | null; cost?: number | null; p95?: number | null; models?: string[] }
interface Reply { count: number; session_ids?: string[]; user_ids?: string[]; totals?: Totals[]; windowing?: Windowing }

/** Sessions lists conversations, or people, and shows one of them. */
export default function Sessions({ of, id }: { of: Of; id?: string | undefined }) {
  // The router has decoded a part of it: the address itself is asked.
  return id === undefined ? <List of={of} /> : <One of={of} id={decodeURIComponent(location.pathname.split('/').at(-1)!)} />;
}

const columnsOf = (of: Of): Column<Totals>[] => [
  { id: 'id', title: of === 'session' ? 'Session' : 'User', width: 200, grow: true, cell: (r) => <Link to={`/${of}s/${encodeURIComponent(r.id)}`}>{r.id}</Link> },
  { id: 'last', title: 'Last', width: 110, cell: (r) => <Ago at={r.last} /> },
  { id: 'first', title: 'First', width: 110, minor: true, cell: (r) => <Ago at={r.first} /> },
  { id: 'traces', title: 'Traces', width: 76, right: true, sort: 'server', cell: (r) => showCount(r.traces) },
  { id: 'errors', title: 'Errors', width: 76, right: true, minor: true, sort: 'server', cell: (r) => (r.errors ? <span className={css['bad']}>▲ {showCount(r.errors)}</span> : showCount(r.errors)) },
  { id: 'tokens', title: 'Tokens', width: 84, right: true, minor: true, sort: 'server', cell: (r) => <Tokens value={r.tokens} /> },
  { id: 'cost', title: 'Cost', width: 96, right: true, sort: 'server', cell: (r) => <Cost value={r.cost} /> },
  { id: 'p95', title: 'p95', width: 90, right: true, minor: true, sort: 'server', cell: (r) => <Duration ms={r.p95} /> },
  { id: 'models', title: 'Models', width: 180, grow: true, minor: true, cell: (r) => r.models?.join(', ') || '–' },
];

const listSchema = { sort: sort({ by: 'last', descending: true }) };

function List({ of }: { of: Of }) {
  const title = of === 'session' ? 'Sessions' : 'Users';
  useTitle(title);
  const clock = useClock();
  const [{ sort: order }, set] = useUrlState(listSchema);
  const [current, setCurrent] = useState<string>();
  const [filter, setFilter] = useState('');
  const byActivity = order.by === 'last';
  const found = useApi<Reply>('POST', `/spans/${of}s/query`, { body: {
    realtime: true, totals: true, ...(!byActivity && { order_by: order.by }), windowing: { oldest: clock.oldest, newest: clock.newest, limit: 200, order: order.descending ? 'descending' : 'ascending' },
  } });
  const rows = useMemo<Totals[]>(() => {
    const totals = new Map((found.data?.totals ?? []).map((t) => [t.id, t]));
    return (found.data?.session_ids ?? found.data?.user_ids ?? []).map((id) => totals.get(id) ?? { id }).filter((r) => r.id.toLowerCase().includes(filter.toLowerCase()));
  }, [found.data, filter]);
  const columns = useMemo(() => columnsOf(of), [of]);
  return (
    <div className={css['page']}>
      <div className={css['top']}>
        <h1>{title}</h1>
        <input className={css['filter']} aria-label={`Find a ${of} among those that are loaded`} placeholder={`Find a ${of}`} value={filter} onChange={(e) => setFilter(e.target.value)} />
      </div>
      <div className={css['list']}>
        {found.error ? <Failure error={found.error} retry={() => void found.refetch()} />
          : found.isPending ? <Skeleton rows={14} />
            : rows.length === 0 ? <Empty title={filter ? `No ${of} is called so.` : `No ${of}s in this range.`} actions={filter ? <Button onPress={() => setFilter('')}>All {of}s</Button> : <Button onPress={() => clock.setRange({ last: '30d' })}>Last 30 days</Button>}>{!filter && (of === 'session' ? 'A trace belongs to a session where its spans carry session.id.' : 'A trace belongs to a user where its spans carry user.id.')}</Empty>
              : <Table label={title} rows={rows} columns={columns} rowKey={(r) => r.id} current={current} onCurrent={setCurrent} dimmed={found.isPlaceholderData}
                sort={order} onSort={(by) => set({ sort: { by, descending: order.by === by ? !order.descending : true } })}
                onOpen={(r, { newTab }) => (newTab ? window.open(address(`/${of}s/${encodeURIComponent(r.id)}`), '_blank', 'noopener') : go(address(`/${of}s/${encodeURIComponent(r.id)}`)))}
                footer={`${found.data.windowing?.next ? 'The first ' : ''}${showCount(rows.length)} ${of}s${byActivity ? ' by their last activity' : ''} in this range`} />}
      </div>
    </div>
  );
}

const SELECT = ['trace_id', 'span_id', 'span_name', 'span_type', 'start_time', 'duration_ms', 'status_code', 'status_message', 'total.tokens', 'total.cost', 'preview.inputs', 'preview.outputs', 'model', 'session_id'];

function One({ of, id }: { of: Of; id: string }) {
  useTitle(id, of === 'session' ? 'Sessions' : 'Users');
  const clock = useClock();
  const [turn, setTurn] = useState(0);
  const filtering = toFilter(group('and', [condition(of === 'session' ? 'session_id' : 'user_id', 'is', id)]));
  const found = useApi<Columns>('POST', '/traces/query', { body: { filtering, windowing: { oldest: clock.oldest, newest: clock.newest, limit: 200, order: of === 'session' ? 'ascending' : 'descending' }, select: SELECT, preview: 4000 } }, { keep: false });
  const rows = useMemo(() => (found.data ? rowsOf(found.data) : []), [found.data]);
  const move = (by: number) => {
    const next = Math.min(rows.length - 1, Math.max(0, turn + by));
    setTurn(next);
    document.getElementById(`turn-${next}`)?.scrollIntoView({ block: 'start', behavior: matchMedia('(prefers-reduced-motion: no-preference)').matches ? 'smooth' : 'auto' });
  };
  useKeys(of === 'session' ? 'Session' : 'User', {
    n: { about: 'Next turn', run: () => move(1) }, p: { about: 'Previous turn', run: () => move(-1) }, j: { about: 'Next turn', hidden: true, run: () => move(1) }, k: { about: 'Previous turn', hidden: true, run: () => move(-1) },
    Enter: { about: 'Open the trace of the turn', run: () => { const row = rows[turn]; if (row) go(address(`/traces/${String(row['trace_id'])}`)); } },
  });
  const number = (row: Record<string, unknown>, field: string) => (typeof row[field] === 'number' ? row[field] : null);
  const sum = (field: string) => rows.reduce((n, r) => n + (number(r, field) ?? 0), 0);
  const most = Math.max(1, ...rows.map((r) => number(r, 'duration_ms') ?? 0));
  return (
    <div className={css['page']}>
      <div className={css['top']}>
        <p className={css['crumb']}><Link to={`/${of}s`}>{of === 'session' ? 'Sessions' : 'Users'}</Link></p>
        <h1>{id}</h1>
        {rows.length > 0 && <p className={css['facts']}>
          <span>{found.data?.windowing?.next ? 'the first ' : ''}{showCount(rows.length)} traces</span><span>{showTokens(sum('total.tokens'))} tok</span><span>{showCost(sum('total.cost'))}</span>
          <span>{showCount(rows.filter((r) => r['status_code'] === 'STATUS_CODE_ERROR').length)} with errors</span>
          <Link to="/traces" state={`q=${encodeURIComponent(`${of}:${JSON.stringify(id)}`)}`}>as a list of traces</Link>
        </p>}
      </div>
      {found.error ? <Failure error={found.error} retry={() => void found.refetch()} />
        : found.isPending ? <Skeleton rows={12} widths={[20, 60]} />
          : rows.length === 0 ? <Empty title={`Nothing of this ${of} in this range.`} actions={<button type="button" className={css['wider']} onClick={() => clock.setRange({ last: '30d' })}>Last 30 days</button>} />
            : (
              <div className={css['split']}>
                <ol className={css['turns']} aria-label="Turns">
                  {rows.map((r, i) => {
                    const gap = i ? Math.abs(Number((parseIso(String(r['start_time'])) ?? 0n) - (parseIso(String(rows[i - 1]!['start_time'])) ?? 0n)) / 1e6) : 0;
                    return (
                      <li key={String(r['trace_id'])}>
                        {gap > 600_000 && <span className={css['gap']}>{showDuration(gap)}</span>}
                        <button type="button" aria-current={i === turn || undefined} onClick={() => { setTurn(i); document.getElementById(`turn-${i}`)?.scrollIntoView({ block: 'start' }); }}>
                          <Time at={String(r['start_time'])} short /><SpanType type={String(r['span_type'])} /><b>{String(r['span_name'])}</b><Status code={String(r['status_code'])} />
                          <i ref={(e) => { if (e) e.style.width = `${((number(r, 'duration_ms') ?? 0) / most) * 100}%`; }} />
                        </button>
                      </li>
                    );
                  })}
                </ol>
                <div className={css['talk']}>
                  {rows.map((r, i) => (
                    <article key={String(r['trace_id'])} id={`turn-${i}`} data-current={i === turn || undefined}>
                      <header><Time at={String(r['start_time'])} /><span>{showDuration(number(r, 'duration_ms'))}</span><span>{showCost(number(r, 'total.cost'))}</span><Link to={`/traces/${String(r['trace_id'])}`}>trace</Link></header>
                      {r['preview.inputs'] ? <p className={css['text']} data-by="user">{String(r['preview.inputs'])}</p> : null}
                      {r['preview.outputs'] ? <p className={css['text']}>{String(r['preview.outputs'])}</p> : <p className={css['text']} data-by="error">{String(r['status_message'] ?? 'no answer')}</p>}
                    </article>
                  ))}
                </div>
              </div>
            )}
    </div>
  );
}
