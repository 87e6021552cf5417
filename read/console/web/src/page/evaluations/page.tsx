import { GitCompareArrows, Square } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import { Button, Choice } from '../../kit/button/button';
import { Link } from '../../kit/link/link';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { Table, type Column } from '../../kit/table/table';
import { toast } from '../../kit/toast/toast';
import { Ago, Cost, Duration, Score } from '../../kit/value/value';
import { address, go } from '../../shell/place';
import { client, may, queries, useApi } from '../../shell/session';
import { useTitle } from '../../shell/shell';
import { showCost, showCount, showDuration, showPercent, showScore } from '../../url/number';
import { list, text, word } from '../../url/state';
import { useUrlState } from '../../url/use';
import type { Compared, Paired } from '../../worker/stats';
import { asNumber, meanOf, pairs, scoresOf, verdict, type Case, type Evaluation, type Grid } from './data';
import css from './page.module.css';

export default function Evaluations({ id }: { id?: string | undefined }) {
  return id === undefined ? <List /> : id === 'compare' ? <Compare /> : <Run id={id} />;
}

const statusOf = (e: Evaluation) => e.status ?? e.data?.status ?? (e.flags?.['is_closed'] ? 'closed' : '–');

const COLUMNS: readonly Column<Evaluation>[] = [
  { id: 'name', title: 'Name', width: 260, grow: true, cell: (e) => <Link to={`/evaluations/${e.id}`}>{e.name ?? e.id}</Link> },
  { id: 'status', title: 'Status', width: 110, cell: (e) => statusOf(e) },
  { id: 'created', title: 'Started', width: 140, cell: (e) => <Ago at={e.created_at} /> },
  { id: 'repeats', title: 'Repeats', width: 80, right: true, minor: true, cell: (e) => showCount(e.data?.repeats ?? 1) },
  { id: 'description', title: 'Description', width: 280, grow: true, minor: true, cell: (e) => e.description ?? '–' },
];

const idOf = (e: Evaluation) => e.id;

function List() {
  useTitle('Evaluations');
  const found = useApi<{ evaluations?: Evaluation[] }>('POST', '/simple/evaluations/query', { body: { windowing: { limit: 200, order: 'descending' } } });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState<string>();
  const rows = found.data?.evaluations ?? [];
  return (
    <div className={css['page']}>
      <div className={css['top']}>
        <h1>Evaluations</h1>
        {selected.size >= 2 && <Button icon={GitCompareArrows} onPress={() => go(address('/evaluations/compare', `runs=${[...selected].join(',')}`))}>Compare {selected.size}</Button>}
      </div>
      <div className={css['list']}>
        {found.error ? <Failure error={found.error} retry={() => void found.refetch()} />
          : found.isPending ? <Skeleton rows={10} />
            : rows.length === 0 ? <Empty title="No evaluation has run yet.">An evaluation runs an application over a testset and scores the answers. POST /simple/evaluations/ starts one.</Empty>
              : <Table label="Evaluations" rows={rows} columns={COLUMNS} rowKey={idOf} current={current} onCurrent={setCurrent} selected={selected} onSelect={setSelected} onOpen={(e) => go(address(`/evaluations/${e.id}`))} />}
      </div>
    </div>
  );
}

function useGrid(runs: readonly string[], refetchInterval: number | false) {
  return useApi<Grid>('POST', '/evaluations/grid', { body: { run_ids: runs, windowing: { limit: 10_000 } } }, { enabled: runs.length > 0, refetchInterval });
}

interface GridRow { i: number; key: string }

function Run({ id }: { id: string }) {
  const found = useApi<{ evaluation?: Evaluation }>('GET', `/simple/evaluations/${id}`, {}, { refetchInterval: 2000, staleTime: 0 });
  const run = found.data?.evaluation;
  const running = run ? /running|pending|queued/.test(statusOf(run)) : false;
  useTitle(run?.name ?? 'Run', 'Evaluations');
  const grid = useGrid([id], running ? 2000 : false);
  const [current, setCurrent] = useState<string>();
  const scores = useMemo(() => (grid.data ? scoresOf(grid.data) : []), [grid.data]);
  const columns = useMemo(() => (grid.data ? gridColumns(grid.data, scores) : []), [grid.data, scores]);
  const rows = useMemo<GridRow[]>(() => (grid.data?.columns['scenario_id'] ?? []).map((s, i) => ({ i, key: `${String(s)}.${i}` })), [grid.data]);
  if (found.error && !run) return <><h1 className="sr">Run</h1><Failure error={found.error} retry={() => void found.refetch()} /></>;
  const stop = () => client.call('POST', `/simple/evaluations/${id}/stop`).then(() => { toast('The run is stopped.'); return queries.invalidateQueries(); }, (e: unknown) => toast(e instanceof Error ? e.message : String(e), { bad: true }));
  const done = (grid.data?.columns['status'] ?? []).filter((s) => s === 'success' || s === 'done').length;
  return (
    <div className={css['page']}>
      <div className={css['top']}>
        <p className={css['crumb']}><Link to="/evaluations">Evaluations</Link></p>
        <h1>{run?.name ?? id}</h1>
        {run && <span className={css['status']} data-on={running || undefined}>{statusOf(run)}{rows.length > 0 && ` ${showCount(done)}/${showCount(rows.length)}`}</span>}
        {running && may('run_evaluations') && <Button small icon={Square} onPress={() => void stop()}>Stop</Button>}
      </div>
      {grid.data && rows.length > 0 && (
        <dl className={css['means']}>
          {[...scores, 'latency_ms', 'cost'].map((name) => {
            const values = (grid.data.columns[name] ?? []).map(asNumber).filter((v): v is number => v !== null);
            if (!values.length) return null;
            return <div key={name}><dt>{name === 'latency_ms' ? 'latency, mean' : name === 'cost' ? 'cost, sum' : name}</dt><dd>{show(name, name === 'cost' ? values.reduce((a, b) => a + b, 0) : values.reduce((a, b) => a + b, 0) / values.length)}</dd><Bars values={values} /></div>;
          })}
        </dl>
      )}
      <div className={css['list']}>
        {grid.error ? <Failure error={grid.error} retry={() => void grid.refetch()} />
          : grid.isPending ? <Skeleton rows={14} />
            : rows.length === 0 ? <Empty title="This run has no results yet." />
              : <Table label="Results" rows={rows} columns={columns} rowKey={(r) => r.key} current={current} onCurrent={setCurrent} onOpen={(r, { newTab }) => {
                const trace = grid.data.columns['trace_id']?.[r.i];
                if (typeof trace !== 'string') return;
                if (newTab) window.open(address(`/traces/${trace}`), '_blank', 'noopener');
                else go(address(`/traces/${trace}`));
              }} rowClass={(r) => (/error|fail/.test(String(grid.data.columns['status']?.[r.i])) ? 'bad' : undefined)} />}
      </div>
    </div>
  );
}

function show(name: string, value: number | null): string {
  return name === 'latency_ms' ? showDuration(value) : name === 'cost' ? showCost(value) : showScore(value);
}

function gridColumns(grid: Grid, scores: readonly string[]): Column<GridRow>[] {
  const cell = (name: string) => (r: GridRow) => grid.columns[name]?.[r.i];
  const textCell = (name: string) => (r: GridRow) => String(cell(name)(r) ?? '–');
  return [
    { id: 'n', title: '#', width: 52, right: true, cell: (r) => r.i + 1 },
    { id: 'inputs', title: 'Inputs', width: 220, grow: true, cell: textCell('preview.inputs') },
    { id: 'expected', title: 'Expected', width: 160, grow: true, minor: true, cell: textCell('preview.expected') },
    { id: 'outputs', title: 'Output', width: 220, grow: true, minor: true, cell: textCell('preview.outputs') },
    ...scores.map((name): Column<GridRow> => {
      const values = (grid.columns[name] ?? []).map(asNumber).filter((v): v is number => v !== null);
      const low = Math.min(...values);
      const high = Math.max(...values);
      return { id: name, title: name, width: 110, right: true, cell: (r) => {
        const v = cell(name)(r);
        const n = asNumber(v);
        return <span className={css['heat']} data-rank={n === null || high === low ? undefined : Math.round(((n - low) / (high - low)) * 4)}><Score value={v} /></span>;
      } };
    }),
    { id: 'latency', title: 'Latency', width: 90, right: true, minor: true, cell: (r) => <Duration ms={asNumber(cell('latency_ms')(r))} /> },
    { id: 'cost', title: 'Cost', width: 104, right: true, minor: true, cell: (r) => <Cost value={asNumber(cell('cost')(r))} /> },
  ];
}

function Bars({ values }: { values: readonly number[] }) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (low === high) return null;
  const counts = Array.from({ length: 12 }, () => 0);
  for (const v of values) counts[Math.min(11, Math.floor(((v - low) / (high - low)) * 12))]!++;
  const most = Math.max(...counts);
  return <svg width="84" height="20" viewBox="0 0 84 20" aria-hidden="true">{counts.map((c, i) => <rect key={i} x={i * 7} width={6} y={20 - (c / most) * 20} height={(c / most) * 20} />)}</svg>;
}

const compareSchema = { runs: list([]), base: text(), only: word(['all', 'worse', 'better', 'differ'], 'all'), by: text() };

/** useCompared computes in a worker, so that the page goes on while 10 000 pairs are resampled. */
function useCompared(scores: Paired[] | undefined): Compared[] | undefined {
  const [result, setResult] = useState<Compared[]>();
  useEffect(() => {
    if (!scores) return;
    const worker = new Worker(new URL('../../worker/stats.worker.ts', import.meta.url), { type: 'module' });
    worker.addEventListener('message', (event: MessageEvent<{ result: Compared[] }>) => setResult(event.data.result));
    worker.postMessage({ id: 0, scores });
    return () => worker.terminate();
  }, [scores]);
  return result;
}

function Compare() {
  useTitle('Compare', 'Evaluations');
  const [state, set] = useUrlState(compareSchema);
  const base = state.base || state.runs[0] || '';
  const other = state.runs.find((r) => r !== base) ?? '';
  const names = useApi<{ evaluations?: Evaluation[] }>('POST', '/simple/evaluations/query', { body: { windowing: { limit: 200, order: 'descending' } } });
  const nameOf = (id: string) => names.data?.evaluations?.find((e) => e.id === id)?.name ?? id;
  const grid = useGrid(state.runs, false);
  const paired = useMemo(() => (grid.data && base && other ? pairs(grid.data, base, other) : undefined), [grid.data, base, other]);
  const compared = useCompared(paired?.scores);
  const [current, setCurrent] = useState<string>();
  const by = state.by || paired?.scores[0]?.name || '';
  const higher = paired?.scores.find((s) => s.name === by)?.higher ?? true;
  const values = grid.data?.columns[by];
  const rows = useMemo(() => {
    const all = (paired?.common ?? []).map((c) => {
      const a = meanOf(values, c.rows[base]);
      const b = meanOf(values, c.rows[other]);
      return { ...c, delta: a === null || b === null ? null : b - a };
    });
    const sign = higher ? 1 : -1;
    return all.filter((c) => state.only === 'all' || (c.delta !== null && (state.only === 'differ' ? c.delta !== 0 : state.only === 'better' ? c.delta * sign > 0 : c.delta * sign < 0)))
      .toSorted((a, b) => (a.delta ?? 0) * sign - (b.delta ?? 0) * sign);
  }, [paired, values, base, other, higher, state.only]);

  if (state.runs.length < 2) return <Empty title="Choose two runs to compare." actions={<Link to="/evaluations">Evaluations</Link>}><h1 className="sr">Compare</h1></Empty>;
  if (grid.error) return <><h1 className="sr">Compare</h1><Failure error={grid.error} retry={() => void grid.refetch()} /></>;
  if (!grid.data || !paired) return <><h1 className="sr">Compare</h1><Skeleton rows={10} /></>;
  const out = (run: string, c: Case) => String(grid.data.columns['preview.outputs']?.[c.rows[run]?.[0] ?? -1] ?? '–');
  const value = (run: string, c: Case) => show(by, meanOf(values, c.rows[run]));
  const columns: Column<Case & { delta: number | null }>[] = [
    { id: 'case', title: 'Case', width: 220, grow: true, cell: (c) => c.label },
    { id: 'expected', title: 'Expected', width: 140, minor: true, cell: (c) => c.expected || '–' },
    { id: 'a', title: nameOf(base), width: 200, grow: true, minor: true, cell: (c) => out(base, c) },
    { id: 'av', title: by, width: 90, right: true, cell: (c) => value(base, c) },
    { id: 'b', title: nameOf(other), width: 200, grow: true, minor: true, cell: (c) => out(other, c) },
    { id: 'bv', title: by, width: 90, right: true, cell: (c) => value(other, c) },
    { id: 'delta', title: 'Δ', width: 90, right: true, cell: (c) => deltaCell(by, c.delta, higher) },
  ];
  return (
    <div className={css['page']}>
      <div className={css['top']}>
        <p className={css['crumb']}><Link to="/evaluations">Evaluations</Link></p>
        <h1>{nameOf(base)} <span className={css['vs']}>against</span> {nameOf(other)}</h1>
        <Button small onPress={() => set({ base: other, runs: [other, base] })}>Swap</Button>
        <span className={css['crumb']}>{showCount(paired.common.length)} cases in common{paired.only > 0 && `, ${showCount(paired.only)} in one run only`}</span>
      </div>
      <div className={css['stats']} tabIndex={0} role="group" aria-label="Scores">
        <table>
          <thead><tr><th>Score</th><th>{nameOf(base)}</th><th>{nameOf(other)}</th><th>Δ</th><th>95 % interval</th><th title="After Holm's correction over the scores shown">p</th><th>▲</th><th>▼</th><th>=</th><th>Verdict</th></tr></thead>
          <tbody>
            {(compared ?? []).map((c, i) => {
              const outcome = verdict(c, paired.scores[i]?.higher ?? null);
              return (
                <tr key={c.name}>
                  <th>{c.name.replace('_ms', '')}</th><td>{show(c.name, c.base)}</td><td>{show(c.name, c.other)}</td><td>{signed(c.name, c.delta)}</td>
                  <td>{c.low === null ? '–' : `[${signed(c.name, c.low)}, ${signed(c.name, c.high)}]`}</td>
                  <td title={c.note ?? `without correction ${c.p?.toFixed(4)}`}>{c.adjusted === null ? '–' : c.adjusted < 0.001 ? '< 0.001' : c.adjusted.toFixed(3)}{c.adjusted !== null && c.adjusted < 0.05 && ' *'}</td>
                  <td>{showCount(c.up)}</td><td>{showCount(c.down)}</td><td>{showCount(c.same)}</td>
                  <td className={css[outcome]}>{c.note ?? (outcome === 'same' ? 'no difference that chance does not explain' : outcome)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
        {!compared && <Skeleton rows={3} />}
        <p className={css['note']}>Differences are of the same cases, repeats averaged before. Intervals are by bootstrap, p by sign flips, or McNemar's exact test for yes and no.</p>
      </div>
      <div className={css['tools']}>
        <Choice label="Which cases" value={state.only} onChange={(only) => set({ only })} options={[['all', 'All'], ['worse', 'Only worse'], ['better', 'Only better'], ['differ', 'Differ']]} />
        <label>by <select value={by} onChange={(e) => set({ by: e.target.value })}>{paired.scores.map((s) => <option key={s.name}>{s.name}</option>)}</select></label>
        <span className={css['crumb']} role="status">{showCount(rows.length)} cases, {showPercent(paired.common.length ? rows.length / paired.common.length : null, 0)}</span>
      </div>
      <div className={css['list']}>
        {rows.length ? <Table label="Cases" rows={rows} columns={columns} rowKey={(c) => c.id} current={current} onCurrent={setCurrent} onOpen={(c) => {
          const trace = (run: string) => grid.data.columns['trace_id']?.[c.rows[run]?.[0] ?? -1];
          go(address(`/traces/${String(trace(base))}`, `diff=${String(trace(other))}`));
        }} /> : <Empty title="No case is of this kind." />}
      </div>
    </div>
  );
}

function deltaCell(name: string, delta: number | null, higher: boolean) {
  return <span className={css[delta === null || delta === 0 ? 'even' : delta > 0 === higher ? 'better' : 'worse']}>{signed(name, delta)}</span>;
}

function signed(name: string, v: number | null): string {
  if (v === null) return '–';
  return v > 0 ? `+${show(name, v)}` : show(name, v);
}
