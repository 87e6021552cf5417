import { Columns3, FolderPlus, GitCompareArrows, MessageSquarePlus, Pause, Play, Radio, Star, Trash2 } from 'lucide-react';
import { lazy, Suspense, useCallback, useMemo, useState } from 'react';
import { Button, Choice } from '../../kit/button/button';
import { Hist } from '../../kit/chart/hist';
import { Menu } from '../../kit/menu/menu';
import { Split } from '../../kit/panel/panel';
import { QueryBar } from '../../kit/query/bar';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { Table } from '../../kit/table/table';
import { copy, toast } from '../../kit/toast/toast';
import { useClock } from '../../shell/clock';
import { curl } from '../../shell/curl';
import { useKeys } from '../../shell/keys';
import { address, go, SERVICE } from '../../shell/place';
import { client, may, projectId, queries, useApi } from '../../shell/session';
import { useTitle } from '../../shell/shell';
import { showCount } from '../../url/number';
import { condition, group, parse, print, type Query } from '../../url/query';
import { flag, list, sort, text, widths, word } from '../../url/state';
import { useUrlState } from '../../url/use';
import { column } from './columns';
import { keyOf, useHistogram, useRows, type Row } from './data';
import { filterOf } from './filter';
import { useTail } from './tail';
import css from './page.module.css';

const AddToTestset = lazy(() => import('../testsets/add').then((m) => ({ default: m.AddToTestset })));
const Annotate = lazy(() => import('./annotate').then((m) => ({ default: m.Annotate })));
const Confirm = lazy(() => import('../../kit/dialog/dialog').then((m) => ({ default: m.Confirm })));
const SaveDialog = lazy(() => import('./dialogs').then((m) => ({ default: m.SaveDialog })));
const ColumnsDialog = lazy(() => import('./dialogs').then((m) => ({ default: m.ColumnsDialog })));
const Trace = lazy(() => import('../trace/page'));

const schema = {
  q: text(), focus: word(['traces', 'spans', 'annotations'], 'traces'), cols: list(['start', 'name', 'input', 'output', 'duration', 'tokens', 'cost']),
  sort: sort({ by: 'start', descending: true }), w: widths(), sel: text(), live: flag(),
};

const ALWAYS = ['trace_id', 'span_id', 'start_time', 'span_name', 'span_type', 'status_code', 'status_message'];

export default function Traces() {
  useTitle('Traces');
  const clock = useClock();
  const [state, set, broken] = useUrlState(schema);
  const { q, focus, cols, sort: order, w, sel, live } = state;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState<string>();
  const [paused, setPaused] = useState(false);
  const [asking, setAsking] = useState<'delete' | 'save' | 'columns' | 'testset' | 'annotate'>();

  const filter = useMemo(() => filterOf(q, focus), [q, focus]);
  const columns = useMemo(() => cols.map(column), [cols]);
  const select = useMemo(() => [...new Set([...ALWAYS, ...columns.flatMap((c) => c.fields)])], [columns]);
  const byStart = order.by === 'start';
  const { list: pages, rows: loaded, body, route } = useRows(focus, filter?.filtering, select, clock, !byStart || order.descending, Boolean(filter));
  const { found, bars, step } = useHistogram(focus, filter?.filtering, clock, Boolean(filter));
  const tail = useTail(live, filter?.filtering, paused, focus === 'traces');

  const rows = useMemo(() => {
    const all = live ? joined(tail.rows, loaded) : loaded;
    if (byStart) return all;
    const field = column(order.by).fields[0]!;
    const value = (row: Row) => row[field] as number | string | null | undefined;
    return all.toSorted((a, b) => {
      const x = value(a) ?? null;
      const y = value(b) ?? null;
      if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1; // absent ones stand last, whatever the direction
      return (x < y ? -1 : x > y ? 1 : 0) * (order.descending ? -1 : 1);
    });
  }, [live, tail.rows, loaded, byStart, order]);

  const open = useCallback((row: Row, { newTab }: { newTab: boolean }) => {
    const id = String(row['trace_id']);
    if (newTab) window.open(address(`/traces/${id}`, focus === 'traces' ? '' : `span=${String(row['span_id'])}`), '_blank', 'noopener');
    else set({ sel: keyOf(row) });
  }, [focus, set]);
  const follow = useCallback((key: string) => {
    setCurrent(key);
    if (sel) set({ sel: key }, 'replace');
  }, [sel, set]);

  const narrow = useCallback((c: Query) => {
    const parsed = parse(q);
    const own = parsed.ok ? parsed.query : null;
    set({ q: print(own === null ? c : 'conditions' in own && own.operator === 'and' ? group('and', [...own.conditions, c]) : group('and', [own, c])) });
  }, [q, set]);

  useKeys('Traces', {
    p: { about: 'Pause and go on, while live', run: () => setPaused((p) => !p) },
    ' ': { about: 'Look at the row without leaving the list', run: () => { const row = rows.find((r) => keyOf(r) === current) ?? rows[0]; if (row) set({ sel: sel ? '' : keyOf(row) }); } },
    'y c': { about: 'Copy as curl', run: () => void copy(curl(route, body), 'Request') },
    'y j': { about: 'Copy the filter as JSON', run: () => void copy(JSON.stringify(filter?.filtering ?? {}, null, 2), 'Filter') },
    ...(selected.size > 0 && may('edit_testsets') && { s: { about: 'Add the selected ones to a testset', run: () => setAsking('testset') } }),
    l: { about: 'Follow live, or stop', run: () => set({ live: !live }) },
  });

  const total = bars.reduce((n, b) => n + b.count, 0);
  const [trace, span] = sel.split('.');
  const spans = [...selected].map((key) => ({ trace: key.split('.')[0]!, span: key.split('.')[1]! }));
  const ids = spans.map((s) => s.trace);
  const refused = pages.error && pages.error.failure === 'refused' ? { message: pages.error.message, ...(pages.error.details.mistakes?.[0] && { at: pages.error.details.mistakes[0].at }) } : undefined;

  return (
    <Split label="Trace" onClose={() => set({ sel: '' })} initial={Math.round(innerWidth * 0.48)} panel={sel && trace
      ? <Suspense fallback={<Skeleton />}><Trace key={trace} id={trace} at={span} inPanel /></Suspense> : null}>
      <div className={css['page']}>
        <h1 className="sr">Traces</h1>
        <div className={css['top']}>
          <QueryBar value={q} onChange={(text) => set({ q: text })} refused={refused} extra={<>
            {may('edit_queries') && <Button small look="quiet" icon={Star} onPress={() => setAsking('save')}>Save</Button>}
            <SavedMenu onChoose={(s) => set({ q: s.q ?? '', ...(s.cols && { cols: s.cols }) })} />
          </>} />
          {broken.length > 0 && <p className={css['broken']} role="status">Of this address {broken.map((b) => `${b.key}=${b.value} was left out: ${b.message}`).join('; ')}.</p>}
          <div className={css['hist']}>
            {found.error ? <Failure compact error={found.error} retry={() => void found.refetch()} />
              : <Hist bars={bars} from={clock.from} to={clock.to} step={step} zone={clock.zone} what={focus} onZoom={(from, to) => clock.setRange({ from, to })} />}
          </div>
          <div className={css['tools']}>
            <Choice label="What a row is" value={focus} onChange={(f) => { setSelected(new Set()); set({ focus: f, sel: '' }); }} options={[['traces', 'Traces'], ['spans', 'Spans'], ['annotations', 'Annotations']]} />
            <span className={css['count']} role="status">{found.isSuccess ? `${showCount(total)} ${focus}` : ''}{!byStart && ` · sorted: ${showCount(rows.length)} loaded`}</span>
            <span className={css['space']} />
            {selected.size > 0 && (
              <span className={css['chosen']}>
                {showCount(selected.size)} selected
                {selected.size === 2 && <Button small icon={GitCompareArrows} onPress={() => go(address(`/traces/${ids[0]}`, `diff=${ids[1]}`))}>Compare</Button>}
                {may('edit_testsets') && <Button small icon={FolderPlus} onPress={() => setAsking('testset')}>Testset</Button>}
                {focus !== 'annotations' && may('edit_spans') && <Button small icon={MessageSquarePlus} onPress={() => setAsking('annotate')}>Annotate</Button>}
                {focus === 'traces' && may('edit_traces') && <Button small icon={Trash2} onPress={() => setAsking('delete')}>Delete</Button>}
                <Button small look="quiet" onPress={() => setSelected(new Set())}>Clear</Button>
              </span>
            )}
            <Button small look="quiet" icon={Columns3} onPress={() => setAsking('columns')}>Columns</Button>
            {live && <Button small look="quiet" icon={paused ? Play : Pause} onPress={() => setPaused(!paused)}>{paused ? `Go on${tail.waiting ? ` (${showCount(tail.waiting)} wait)` : ''}` : 'Pause'}</Button>}
            <Button small look="quiet" icon={Radio} pressed={live} onPress={() => set({ live: !live })}>Live</Button>
          </div>
          {live && (tail.note || tail.dropped > 0) && <p className={css['broken']} role="status">{tail.note}{tail.dropped > 0 && ` ${showCount(tail.dropped)} spans came faster than this page took them and are not shown.`}</p>}
        </div>
        <div className={css['list']}>
          {pages.isPending && filter ? <Skeleton rows={16} />
            : pages.error && !refused ? <Failure error={pages.error} retry={() => void pages.refetch()} />
              : rows.length === 0 ? <Nothing q={q} clear={() => set({ q: '' })} wider={() => clock.setRange({ last: '30d' })} />
                : (
                  <Table label={focus} rows={rows} columns={columns} rowKey={keyOf} current={sel || current} onCurrent={follow} onOpen={open} selected={selected} onSelect={setSelected}
                    sort={order} onSort={(by) => set({ sort: { by, descending: order.by === by ? !order.descending : true } })} widths={w} onWidths={(next) => set({ w: next }, 'replace')}
                    onEnd={() => { if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage(); }} total={found.isSuccess ? Math.max(total, rows.length) : -1} dimmed={pages.isPlaceholderData}
                    onKey={(event, row) => {
                      if (event.key === 'f') narrow(condition('span_name', 'is', String(row['span_name'])));
                      else if (event.key === 'F') narrow(condition('span_name', 'is_not', String(row['span_name'])));
                      else if (event.key === 'Enter' && event.shiftKey) go(address(`/traces/${String(row['trace_id'])}`));
                    }}
                    footer={pages.isFetchingNextPage ? 'Loading more' : pages.hasNextPage ? '' : `All ${focus} of this range`} />
                )}
        </div>
        <Suspense>
          {asking === 'columns' && <ColumnsDialog cols={cols} onChange={(c) => set({ cols: c })} close={() => setAsking(undefined)} />}
          {asking === 'save' && <SaveDialog q={q} cols={cols} focus={focus} filtering={filter?.filtering} close={() => setAsking(undefined)} />}
          {asking === 'testset' && <AddToTestset close={() => setAsking(undefined)} spans={spans} />}
          {asking === 'annotate' && <Annotate close={() => setAsking(undefined)} spans={spans} />}
          {asking === 'delete' && (
            <Confirm title={`Delete ${showCount(ids.length)} ${ids.length === 1 ? 'trace' : 'traces'}?`} verb="Delete" count={ids.length} onClose={() => setAsking(undefined)} onConfirm={() => {
              setAsking(undefined);
              setSelected(new Set());
              void removeAll(ids);
            }}>
              <p>All spans of {ids.length === 1 ? 'this trace' : 'these traces'} go, with their payloads. Annotations of them stay. This does not come back.</p>
            </Confirm>
          )}
        </Suspense>
      </div>
    </Split>
  );
}

function joined(live: readonly Row[], loaded: readonly Row[]): Row[] {
  const seen = new Set<string>();
  return [...live, ...loaded].filter((row) => {
    const key = keyOf(row);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

async function removeAll(ids: readonly string[]): Promise<void> {
  const waiting = [...new Set(ids)];
  let failed = 0;
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) await client.call('DELETE', `/traces/${id}`).catch(() => failed++);
  }));
  toast(failed ? `${showCount(failed)} of ${showCount(ids.length)} traces could not be deleted.` : `${showCount(ids.length)} traces deleted.`, { bad: failed > 0 });
  await queries.invalidateQueries();
}

function Nothing({ q, clear, wider }: { q: string; clear: () => void; wider: () => void }) {
  return (
    <Empty title={q ? 'Nothing matches in this range.' : 'No traces in this range.'} actions={<>
      {q && <Button onPress={clear}>Without the filter</Button>}
      <Button onPress={wider}>Last 30 days</Button>
    </>}>
      {!q && <>
        <p>To send one:</p>
        <pre className={css['curl']}>{`curl -sS ${SERVICE}/otlp/v1/traces \\\n  -H "Authorization: ApiKey $COLONNADE_API_KEY" \\\n  -H 'Content-Type: application/json' -d @spans.json`}</pre>
        <p>Project <code>{projectId()}</code></p>
      </>}
    </Empty>
  );
}

interface SavedState { q?: string; cols?: string[] }
interface SavedQueries { queries?: { id: string; name?: string; slug?: string; meta?: { console?: SavedState } }[] }

function SavedMenu({ onChoose }: { onChoose: (state: SavedState) => void }) {
  const saved = useApi<SavedQueries>('POST', '/simple/queries/query', { body: {} });
  const all = (saved.data?.queries ?? []).filter((s) => s.meta?.console);
  if (!all.length) return null;
  return <Menu small label="Saved queries" text="▾" items={all.map((s) => ({ id: s.id, text: s.name ?? s.slug ?? s.id, run: () => onChoose(s.meta!.console!) }))} />;
}
