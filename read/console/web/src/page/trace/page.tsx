import { ArrowUpRight, ChevronLeft, ChevronRight, Copy, Download, FolderPlus, GitCompareArrows, MoreHorizontal, Trash2 } from 'lucide-react';
import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import type { Annotation, Outline } from '../../api/types';
import { Button, Choice, IconButton } from '../../kit/button/button';
import { Link } from '../../kit/link/link';
import { Menu } from '../../kit/menu/menu';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { copy, toast } from '../../kit/toast/toast';
import { Cost, Duration, Id, SpanType, Time, Tokens } from '../../kit/value/value';
import { curl } from '../../shell/curl';
import { useKeys } from '../../shell/keys';
import { address, go } from '../../shell/place';
import { client, may, queries, useApi } from '../../shell/session';
import { useTitle } from '../../shell/shell';
import { showCount, showTokens } from '../../url/number';
import { flag, text, word, type Key } from '../../url/state';
import { useUrlState } from '../../url/use';
import { SpanView } from './span';
import { buildTree, closedFrom, criticalPath, findNames, nameOf, shown, type Tree } from './tree';
import { TreeView } from './tree-view';
import css from './page.module.css';

const AddToTestset = lazy(() => import('../testsets/add').then((m) => ({ default: m.AddToTestset })));
const DiffWith = lazy(() => import('./diff-with').then((m) => ({ default: m.DiffWith })));

const Confirm = lazy(() => import('../../kit/dialog/dialog').then((m) => ({ default: m.Confirm })));
const Conversation = lazy(() => import('./views').then((m) => ({ default: m.Conversation })));
const CostView = lazy(() => import('./views').then((m) => ({ default: m.CostView })));
const Diff = lazy(() => import('./views').then((m) => ({ default: m.Diff })));

const zoomKey: Key<readonly [number, number] | null> = {
  initial: null,
  parse(t) {
    const [a, b] = t.split('~').map(Number);
    if (a === undefined || b === undefined || !(a < b)) throw new Error('it is two numbers of nanoseconds with ~ between them');
    return [a, b];
  },
  print: (v) => (v ? `${Math.round(v[0])}~${Math.round(v[1])}` : ''),
};

const schema = { span: text(), view: word(['tree', 'timeline', 'conversation', 'cost'], 'tree'), tab: text(), find: text(), errors: flag(), path: flag(), zoom: zoomKey, diff: text() };

/** Trace shows what happened in a trace, why, and what it cost. Also as the panel beside a list, where the address belongs to the list. */
export default function Trace({ id, at, inPanel = false }: { id: string; at?: string | undefined; inPanel?: boolean }) {
  const found = useApi<Outline>('GET', `/traces/${id}/outline`, {}, { keep: false, staleTime: 30_000 });
  const { data, error, refetch } = found;
  // A trace that runs is asked again; one that was just written may not be there yet.
  const missing = error?.failure === 'missing';
  const [waited, setWaited] = useState(0);
  useEffect(() => {
    if (!(data?.running || (missing && waited < 10))) return;
    const timer = setTimeout(() => {
      setWaited((n) => n + 1);
      void refetch();
    }, data?.running ? 2000 : 1000);
    return () => clearTimeout(timer);
  }, [data, missing, waited, refetch]);

  if (missing && waited >= 10) {
    return <Empty title="There is no such trace." actions={<Link to="/traces">All traces</Link>}><h1 className="sr">No such trace</h1><p>It may belong to another project, or its spans were deleted. <code>{id}</code></p></Empty>;
  }
  if (missing) return <Empty title="Not here yet."><h1 className="sr">Trace</h1>Asking again each second, for ten seconds.</Empty>;
  if (error && !data) return <><h1 className="sr">Trace</h1><Failure error={error} retry={() => void refetch()} /></>;
  if (!data) return <><h1 className="sr">Trace</h1><Skeleton rows={18} widths={[40, 30, 8, 8]} /></>;
  return <Loaded outline={data} at={at} inPanel={inPanel} />;
}

function Loaded({ outline, at, inPanel }: { outline: Outline; at: string | undefined; inPanel: boolean }) {
  const tree = useMemo(() => buildTree(outline), [outline]);
  const name = tree.spans.length ? nameOf(tree, 0) : outline.trace_id;
  useTitle(inPanel ? undefined : name, 'Traces');
  // In a panel the address belongs to the list, but for the span.
  const [fromUrl, setUrl] = useUrlState(schema);
  const [local, setLocal] = useState(() => ({ span: at ?? '', view: 'tree' as (typeof fromUrl)['view'], tab: '', find: '', errors: false, path: false, zoom: null as readonly [number, number] | null, diff: '' }));
  const state = inPanel ? local : fromUrl;
  const set = (change: Partial<typeof local>, how?: 'push' | 'replace') => (inPanel ? setLocal((s) => ({ ...s, ...change })) : setUrl(change, how));
  useEffect(() => { if (inPanel && at) setLocal((s) => ({ ...s, span: at })); }, [inPanel, at]);

  const [closed, setClosed] = useState<ReadonlySet<number>>(() => (tree.spans.length > 2000 ? closedFrom(tree, 3) : new Set()));
  const [deleting, setDeleting] = useState(false);
  const [asking, setAsking] = useState<'testset' | 'diff'>();
  const [asked, setAsked] = useState(0);
  const annotations = useApi<{ annotations?: Annotation[] }>('POST', '/annotations/query', { body: { annotation: { links: [{ trace_id: outline.trace_id }] } } });

  const index = outline.columns.span_id.indexOf(state.span);
  const current = index >= 0 ? tree.rows[index]! : firstOf(tree);
  const hits = useMemo(() => findNames(tree, state.find), [tree, state.find]);
  const only = useMemo(() => {
    if (!state.errors) return undefined;
    const mask = new Uint8Array(tree.spans.length);
    for (let row = 0; row < mask.length; row++) mask[row] = outline.columns.status[tree.spans[row]!] === 2 ? 1 : 0;
    return mask;
  }, [tree, outline, state.errors]);
  const path = useMemo(() => (state.path ? criticalPath(tree) : undefined), [tree, state.path]);
  const rows = useMemo(() => shown(tree, closed, only), [tree, closed, only]);
  const choose = (row: number) => set({ span: outline.columns.span_id[tree.spans[row]!]! }, 'replace');
  const hit = hits.findIndex((row) => row >= current);
  const jump = (by: number) => {
    if (!hits.length) return;
    const here = hits.indexOf(current);
    const row = hits[(here < 0 ? (by > 0 ? Math.max(0, hit) : hits.length - 1) : here + by + hits.length) % hits.length]!;
    const next = new Set(closed);
    for (let p = tree.parents[row]!; p >= 0; p = tree.parents[p]!) next.delete(p);
    setClosed(next);
    choose(row);
  };

  useKeys('Trace', {
    ...(may('edit_spans') && { a: { about: 'Annotate the span', run: () => { setAsked((n) => n + 1); set({ tab: 'feedback', ...(state.view !== 'timeline' && { view: 'tree' }) }, 'replace'); } } }),
    ...(may('edit_testsets') && { s: { about: 'Add the span to a testset', run: () => setAsking('testset') } }),
    d: { about: 'Compare with another trace', run: () => setAsking('diff') },
    n: { about: 'Next of what was found', run: () => jump(1) },
    N: { about: 'Previous of what was found', run: () => jump(-1) },
    v: { about: 'Next view', run: () => { const all = ['tree', 'timeline', 'conversation', 'cost'] as const; set({ view: all[(all.indexOf(state.view) + 1) % 4]! }); } },
    'y c': { about: 'Copy as curl', run: () => void copy(curl(`/traces/${outline.trace_id}/outline`), 'Request') },
  });

  if (!tree.spans.length) return <Empty title="This trace has no spans." />;
  const totals = outline.totals;
  const download = async () => {
    const whole = await client.call('GET', `/traces/${outline.trace_id}`);
    const url = URL.createObjectURL(new Blob([JSON.stringify(whole, null, 2)], { type: 'application/json' }));
    const a = document.createElement('a');
    a.href = url;
    a.download = `trace-${outline.trace_id}.json`;
    a.click();
    URL.revokeObjectURL(url);
  };
  return (
    <div className={css['trace']} data-panel={inPanel || undefined}>
      <header className={css['head']}>
        <div className={css['title']}>
          <SpanType type={outline.dictionaries.type[outline.columns.type[tree.spans[0]!]!] ?? 'unknown'} />
          {inPanel ? <h2>{name}</h2> : <h1>{name}</h1>}
          {outline.running && <span className={css['running']} role="status">running</span>}
          {totals.errors ? <span className={css['errors']} title="Errors">▲ {showCount(totals.errors)}</span> : null}
          <span className={css['actions']}>
            {inPanel && <IconButton small icon={ArrowUpRight} label="Open as a page" onPress={() => go(address(`/traces/${outline.trace_id}`, state.span ? `span=${state.span}` : ''))} />}
            <IconButton small icon={Copy} label="Copy the address" keys="c" onPress={() => void copy(new URL(address(`/traces/${outline.trace_id}`, state.span ? `span=${state.span}` : ''), location.href).href, 'Address')} />
            <Menu small icon={MoreHorizontal} label="With this trace" items={[
              { id: 'id', text: 'Copy the trace id', icon: Copy, run: () => void copy(outline.trace_id, 'Trace id') },
              { id: 'json', text: 'Download as JSON', icon: Download, run: () => void download().catch((e: unknown) => toast(String(e), { bad: true })) },
              ...(may('edit_testsets') ? [{ id: 'testset', text: 'Add the span to a testset', icon: FolderPlus, keys: 's', run: () => setAsking('testset') }] : []),
              { id: 'diff', text: 'Compare with…', icon: GitCompareArrows, keys: 'd', run: () => setAsking('diff') },
              ...(may('edit_traces') ? ['-' as const, { id: 'delete', text: 'Delete', icon: Trash2, bad: true, run: () => setDeleting(true) }] : []),
            ]} />
          </span>
        </div>
        <p className={css['facts']}>
          <Time at={outline.start} />
          <Duration ms={(tree.to - tree.from) / 1e6} />
          <span>{showCount(totals.spans)} {totals.spans === 1 ? 'span' : 'spans'}</span>
          {totals.tokens_total !== null && <span title={`${showTokens(totals.tokens_prompt)} prompt, ${showTokens(totals.tokens_completion)} completion`}><Tokens value={totals.tokens_total} /> tok</span>}
          {totals.cost !== null && <Cost value={totals.cost} />}
          <Id id={outline.trace_id} what="Trace id" length={12} />
        </p>
        {!outline.complete && <p className={css['cut']} role="note">{showCount(tree.spans.length)} of {showCount(totals.spans)} spans are shown.</p>}
        <div className={css['tools']}>
          <Choice label="View" value={state.view} onChange={(view) => set({ view })} options={[['tree', 'Tree'], ['timeline', 'Timeline'], ['conversation', 'Conversation'], ['cost', 'Cost']]} />
          {(state.view === 'tree' || state.view === 'timeline') && !state.diff && <>
            <span className={css['find']}>
              <input aria-label="Find a span by name or model" placeholder="find" value={state.find} onChange={(e) => set({ find: e.target.value }, 'replace')} onKeyDown={(e) => { if (e.key === 'Enter') jump(e.shiftKey ? -1 : 1); }} />
              {state.find && <><span role="status">{hits.length ? `${Math.max(0, hits.indexOf(current)) + 1}/${hits.length}` : 'none'}</span>
                <IconButton small icon={ChevronLeft} label="Previous" onPress={() => jump(-1)} /><IconButton small icon={ChevronRight} label="Next" onPress={() => jump(1)} /></>}
            </span>
            <label><input type="checkbox" checked={state.errors} onChange={(e) => set({ errors: e.target.checked })} /> only errors</label>
            <label><input type="checkbox" checked={state.path} onChange={(e) => set({ path: e.target.checked })} /> critical path</label>
            <label>depth <select aria-label="Depth to which spans are open" value="" onChange={(e) => setClosed(e.target.value === 'all' ? new Set() : closedFrom(tree, Number(e.target.value)))}>
              <option value="" hidden>–</option>{[1, 2, 3, 5].map((d) => <option key={d} value={d}>{d}</option>)}<option value="all">all</option>
            </select></label>
            {state.zoom && <Button small look="quiet" onPress={() => set({ zoom: null })}>whole time</Button>}
          </>}
          {state.diff && <Button small look="quiet" onPress={() => set({ diff: '' })}>End the comparison</Button>}
        </div>
      </header>
      <div className={css['body']} data-view={state.diff ? 'diff' : state.view}>
        <Suspense fallback={<Skeleton />}>{state.diff ? <Diff tree={tree} other={state.diff} />
          : state.view === 'conversation' ? <Conversation tree={tree} />
            : state.view === 'cost' ? <CostView tree={tree} />
              : <>
                <TreeView tree={tree} rows={rows} closed={closed} onClosed={setClosed} current={current} onCurrent={choose} hits={new Set(hits)} path={path} zoom={state.zoom} onZoom={(zoom) => set({ zoom }, 'replace')} wide={state.view === 'timeline'} />
                <div className={css['span']}><SpanView tree={tree} row={current} tab={state.tab} onTab={(tab) => set({ tab }, 'replace')} annotations={annotations.data?.annotations ?? []} asked={asked} /></div>
              </>}</Suspense>
      </div>
      {asking === 'testset' && <Suspense><AddToTestset close={() => setAsking(undefined)} spans={[{ trace: outline.trace_id, span: outline.columns.span_id[tree.spans[current]!]! }]} /></Suspense>}
      {asking === 'diff' && <Suspense><DiffWith id={outline.trace_id} name={name} start={outline.start} close={() => setAsking(undefined)} onChoose={(diff) => { setAsking(undefined); if (inPanel) go(address(`/traces/${outline.trace_id}`, `diff=${diff}`)); else set({ diff }); }} /></Suspense>}
      {deleting && <Suspense><Confirm title="Delete this trace?" verb="Delete" onClose={() => setDeleting(false)} onConfirm={() => {
        setDeleting(false);
        client.call('DELETE', `/traces/${outline.trace_id}`).then(async () => {
          toast('The trace is deleted.');
          go(address('/traces'));
          await queries.invalidateQueries();
        }, (e: unknown) => toast(e instanceof Error ? e.message : String(e), { bad: true }));
      }}><p>All {showCount(totals.spans)} spans go, with their payloads. This does not come back.</p></Confirm></Suspense>}
    </div>
  );
}

/** firstOf is the row that is shown first: what failed at the deepest, else the top. */
function firstOf(tree: Tree): number {
  const { status } = tree.outline.columns;
  let best = 0;
  let depth = -1;
  for (let row = 0; row < tree.spans.length; row++) {
    if (status[tree.spans[row]!] === 2 && tree.depths[row]! > depth) {
      best = row;
      depth = tree.depths[row]!;
    }
  }
  return best;
}
