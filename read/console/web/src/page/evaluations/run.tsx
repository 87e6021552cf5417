import { GitCompareArrows, MoreHorizontal, Play, RotateCcw, Search, Square } from 'lucide-react';
import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import { Button, Choice } from '../../kit/button/button';
import { Grid, type GridColumn, type Spot } from '../../kit/grid/grid';
import { Link } from '../../kit/link/link';
import { Menu } from '../../kit/menu/menu';
import { Split } from '../../kit/panel/panel';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { copy, toast } from '../../kit/toast/toast';
import { Ago, Cost, Duration, Score as ScoreValue } from '../../kit/value/value';
import { curl } from '../../shell/curl';
import { useKeys } from '../../shell/keys';
import { address, go } from '../../shell/place';
import { client, may, queries, useApi } from '../../shell/session';
import { useTitle } from '../../shell/shell';
import { showCost, showCount, showDuration, showScore } from '../../url/number';
import { list, sort, text, word } from '../../url/state';
import { now, parseIso } from '../../url/time';
import { useTyped, useUrlState } from '../../url/use';
import { stepsOf, underWay, useGrids, type Run as RunRecord } from './data';
import { compile } from './filter';
import { asNumber, failures, meanOf, readSheet, spreadOf, stageOf, stageOfCase, testsetName, type Case, type Score, type Sheet, type Stage } from './sheet';
import css from './page.module.css';

const AddToTestset = lazy(() => import('../testsets/add').then((m) => ({ default: m.AddToTestset })));
const CasePanel = lazy(() => import('./case').then((m) => ({ default: m.CasePanel })));

const schema = { q: text(), sort: sort({ by: 'n', descending: false }), sel: text(), show: word(['all', 'failed', 'pending'], 'all'), fold: list([]), group: text(), mark: list([]) };

interface Row { n: number; one: Case; stage: Stage }

/** Run shows the cases of a run as they come in: outputs, scores, latency and cost of each. */
export function Run({ id }: { id: string }) {
  const found = useApi<{ run?: RunRecord }>('GET', `/evaluations/runs/${id}`, {}, { staleTime: 0, refetchInterval: usePace() });
  const run = found.data?.run;
  const running = underWay(run);
  useTitle(run?.name ?? 'Run', 'Evaluations');
  const pace = useBackOff(running);
  const { grids, error, pending, again } = useGrids([id], pace);
  const grid = grids[0];
  const ended = run !== undefined && !running;
  // The last results may come with the end of the run: they are asked for once more.
  useEffect(() => { if (ended) void queries.invalidateQueries({ predicate: (q) => q.queryKey[2] === '/evaluations/grid' && q.queryKey[3] === id }); }, [ended, id]);
  const [state, set] = useUrlState(schema);
  const steps = useMemo(() => stepsOf(run), [run]);
  const sheet = useMemo(() => (grid ? readSheet(grid, steps) : undefined), [grid, steps]);
  const all = useMemo<Row[]>(() => (sheet ? sheet.cases.map((one, i) => ({ n: i + 1, one, stage: stageOfCase(sheet, one) })) : []), [sheet]);
  const filter = useMemo(() => compile(state.q), [state.q]);
  const columns = useMemo(() => (sheet ? columnsOf(sheet, new Set(state.fold)) : []), [sheet, state.fold]);
  const rows = useMemo(() => (sheet ? chosen(sheet, all, state.show, filter.ok ? filter.test : () => true, state.sort) : []), [sheet, all, state.show, filter, state.sort]);
  const [at, setAt] = useState<Spot>({ row: 0, column: 0 });
  const [adding, setAdding] = useState(false);
  const marked = useMemo(() => new Set(state.mark), [state.mark]);
  const type = useTyped((q: string) => set({ q }, 'replace'));
  const open = rows.find((r) => r.one.key === state.sel) ?? all.find((r) => r.one.key === state.sel);
  const follow = (next: Spot) => {
    setAt(next);
    const row = rows[next.row];
    if (state.sel && row) set({ sel: row.one.key }, 'replace');
  };
  const traceOf = (row: Row | undefined) => sheet?.applications.map((a) => row && a.trace?.[row.one.rows[0]!]).find((t) => typeof t === 'string');
  const act = (path: string, message: string, body?: unknown) => client.call('POST', `/simple/evaluations/${id}/${path}`, { ...(body !== undefined && { body }) }).then(() => { toast(message); return queries.invalidateQueries(); }, (e: unknown) => toast(e instanceof Error ? e.message : String(e), { bad: true }));
  const failed = sheet ? failures(sheet, steps) : [];
  const failedCases = failed.reduce((n, f) => n + f.scenario_ids.length, 0);
  const rerun = async () => { for (const part of failed) await act('process', `${showCount(part.scenario_ids.length)} cases run again.`, { ...part, overwrite: true }); };

  useKeys('Run', {
    '/': { about: 'Go to the filter', run: () => document.getElementById('case-filter')?.focus() },
    m: { about: 'Mark the case', run: () => { const row = rows[at.row]; if (row) set({ mark: marked.has(row.one.key) ? state.mark.filter((k) => k !== row.one.key) : [...state.mark, row.one.key] }, 'replace'); } },
    'y c': { about: 'Copy as curl', run: () => void copy(curl('/evaluations/grid', { run_ids: [id] }), 'Request') },
  });

  if (found.error && !run) return <><h1 className="sr">Run</h1><Failure error={found.error} retry={() => void found.refetch()} /></>;
  const done = all.filter((r) => r.stage === 'done').length;
  return (
    <Split label="Case" onClose={() => set({ sel: '' })} initial={Math.round(innerWidth * 0.42)} panel={open && sheet && run
      ? <Suspense fallback={<Skeleton />}><CasePanel key={open.one.key} run={run} sheet={sheet} one={open.one} n={open.n} /></Suspense> : null}>
      <div className={css['page']}>
        <div className={css['top']}>
          <p className={css['crumb']}><Link to="/evaluations">Evaluations</Link></p>
          <h1>{run?.name ?? id}</h1>
          {run && <span className={css['status']} role="status" data-on={running || undefined} data-bad={run.status === 'errors' || run.status === 'failure' || undefined}>{run.status}{all.length > 0 && ` ${showCount(done)}/${showCount(all.length)}`}</span>}
          {running && run && <Left run={run} done={done} all={all.length} />}
          {failedCases > 0 && <span className={css['errors']}>▲ {showCount(failedCases)}</span>}
          <span className={css['crumb']}>{testsetName(steps)}{sheet && ` × ${sheet.applications.map((a) => a.name).join(', ')}`}</span>
          <span className={css['space']} />
          {run && may('run_evaluations') && <>
            {running && <Button small icon={Square} onPress={() => void act('stop', 'The run is stopped.')}>Stop</Button>}
            {!running && (run.status === 'cancelled' || run.status === 'pending') && <Button small icon={Play} onPress={() => void act('start', 'The run goes on.')}>Start</Button>}
            {!running && failedCases > 0 && <Button small icon={RotateCcw} onPress={() => void rerun()}>Again what failed</Button>}
          </>}
          <CompareWith run={run} />
          <Menu small icon={MoreHorizontal} label="With this run" items={[
            { id: 'id', text: 'Copy the run id', run: () => void copy(id, 'Run id') },
            { id: 'csv', text: 'Download as CSV', run: () => { if (sheet) download(sheet, run?.name ?? id); } },
            ...(marked.size ? [{ id: 'marked', text: `New testset of ${showCount(marked.size)} marked`, run: () => setAdding(true) }] : []),
          ]} />
        </div>
        {sheet && all.length > 0 && <Means sheet={sheet} />}
        {run && all.length > 0 && (
          <div className={css['tools']}>
            <label className={css['filter']} data-bad={!filter.ok || undefined}><Search size={13} aria-hidden />
              <input id="case-filter" key={state.q === '' ? 'empty' : 'filter'} aria-label="Filter of cases" placeholder="Filter: score.judge<3 latency>2s status:failed paris" defaultValue={state.q} onChange={(e) => type(e.target.value)} aria-invalid={!filter.ok || undefined}
                onKeyDown={(e) => { if (e.key === 'Escape') { e.preventDefault(); e.currentTarget.blur(); } }} />
            </label>
            <Choice label="Which cases" value={state.show} onChange={(show) => set({ show })} options={[['all', 'All'], ['failed', 'Failed'], ['pending', 'Not done']]} />
            <GroupBy rows={all} value={state.group} onChange={(group) => set({ group })} />
            {marked.size > 0 && <Button small look="quiet" onPress={() => setAdding(true)}>{showCount(marked.size)} marked</Button>}
            <span className={css['crumb']} role="status">{filter.ok ? rows.length === all.length ? `${showCount(all.length)} cases` : `${showCount(rows.length)} of ${showCount(all.length)} cases` : filter.message}</span>
          </div>
        )}
        {sheet && state.group && <Grouped sheet={sheet} rows={rows} member={state.group} onPick={(value) => set({ q: `inputs~${JSON.stringify(`${state.group}: ${value}`)}` })} />}
        <div className={css['list']}>
          {error && !grid ? <Failure error={error} retry={again} />
            : !sheet || (pending && !grid) ? <Skeleton rows={14} />
              : all.length === 0 ? <Empty title={running ? 'The first results come in a moment.' : 'This run has no results yet.'} />
                : rows.length === 0 ? <Empty title="No case is of this kind." actions={<Button onPress={() => set({ q: '', show: 'all' })}>All cases</Button>} />
                  : <Grid label="Cases" rows={rows} columns={columns} rowKey={(r) => r.one.key} at={at} onAt={follow} sort={state.sort} marked={marked}
                    onSort={(by) => set({ sort: { by, descending: state.sort.by === by ? !state.sort.descending : by !== 'n' } })} onGroup={(name) => set({ fold: state.fold.includes(name) ? state.fold.filter((f) => f !== name) : [...state.fold, name] })}
                    onOpen={(row, { shift }) => {
                      const trace = traceOf(row);
                      if (shift && typeof trace === 'string') go(address(`/traces/${trace}`));
                      else set({ sel: row.one.key });
                    }} />}
        </div>
        {adding && <Suspense><AddToTestset close={() => setAdding(false)} testcases={state.mark.map((key) => all.find((r) => r.one.key === key)?.one.testcase).filter((t): t is string => Boolean(t))} /></Suspense>}
      </div>
    </Split>
  );
}

/** usePace asks more often while the page is looked at. */
function usePace(): number | false {
  const [hidden, setHidden] = useState(document.hidden);
  useEffect(() => {
    const changed = () => setHidden(document.hidden);
    document.addEventListener('visibilitychange', changed);
    return () => document.removeEventListener('visibilitychange', changed);
  }, []);
  return hidden ? false : 2000;
}

/** useBackOff returns one second at first and five later: the grid of a long run is large. */
function useBackOff(running: boolean): number | false {
  const [pace, setPace] = useState(1000);
  const looked = usePace();
  useEffect(() => {
    if (!running) return;
    setPace(1000);
    const timer = setTimeout(() => setPace(5000), 60_000);
    return () => clearTimeout(timer);
  }, [running]);
  return running && looked ? pace : false;
}

function Left({ run, done, all }: { run: RunRecord; done: number; all: number }) {
  const since = Number(now() - (parseIso(run.created_at) ?? 0n)) / 1e6;
  if (!done || done === all || since < 0) return <span className={css['crumb']}>since <Ago at={run.created_at} /></span>;
  return <span className={css['crumb']}>{showDuration((since / done) * (all - done))} left</span>;
}

function CompareWith({ run }: { run: RunRecord | undefined }) {
  const others = useApi<{ runs?: RunRecord[] }>('POST', '/evaluations/runs/query', { body: { windowing: { limit: 200, order: 'descending' } } }, { enabled: run !== undefined });
  if (!run) return null;
  const set = testsetName(stepsOf(run)).replace(/ v\d+$/, '');
  const same = (others.data?.runs ?? []).filter((r) => r.id !== run.id && !r.flags?.['is_queue'] && testsetName(stepsOf(r)).replace(/ v\d+$/, '') === set).slice(0, 12);
  const apps = stepsOf(run).filter((s) => s.type === 'invocation');
  if (!same.length && apps.length < 2) return null;
  return <Menu small icon={GitCompareArrows} text="Compare" label="Compare with" items={[
    ...(apps.length > 1 ? [{ id: 'apps', text: 'The applications of this run', run: () => go(address('/evaluations/compare', `runs=${apps.map((a) => `${run.id}~${a.key}`).join(',')}`)) }] : []),
    ...same.map((r) => ({ id: r.id, text: `${r.name ?? r.id.slice(0, 8)} · ${r.status ?? ''}`, run: () => go(address('/evaluations/compare', `runs=${r.id},${run.id}&base=${r.id}`)) })),
  ]} />;
}

function Means({ sheet }: { sheet: Sheet }) {
  const several = sheet.applications.length > 1;
  const nameOf = (key: string | undefined) => (several ? `${sheet.applications.find((a) => a.key === key)?.name ?? ''} ` : '');
  const numbers = (values: readonly unknown[] | undefined) => sheet.cases.map((c) => meanOf(values, c.rows)).filter((v) => v !== null);
  const mean = (values: readonly number[]) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);
  const items = [
    ...sheet.scores.map((s) => ({ id: s.id, title: nameOf(s.application) + s.name, values: numbers(s.values), show: showScore, of: mean })),
    ...sheet.applications.flatMap((a) => [
      { id: `${a.key}.l`, title: `${nameOf(a.key)}latency p95`, values: numbers(a.latency), show: showDuration, of: p95 },
      { id: `${a.key}.c`, title: `${nameOf(a.key)}cost`, values: numbers(a.cost), show: showCost, of: (v: readonly number[]) => v.reduce((x, y) => x + y, 0) },
    ]),
  ].filter((i) => i.values.length);
  return <dl className={css['means']}>{items.map((i) => <div key={i.id}><dt>{i.title}</dt><dd>{i.show(i.of(i.values))}<small>n {showCount(i.values.length)}</small></dd><Bars values={i.values} /></div>)}</dl>;
}

function p95(values: readonly number[]): number | null {
  return values.length ? values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * 0.95) - 1)]! : null;
}

function Bars({ values }: { values: readonly number[] }) {
  const low = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const high = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  if (!(low < high)) return null;
  const counts = Array.from({ length: 12 }, () => 0);
  for (const v of values) counts[Math.min(11, Math.floor(((v - low) / (high - low)) * 12))]!++;
  const most = Math.max(...counts);
  return <svg width="84" height="18" viewBox="0 0 84 18" aria-hidden="true">{counts.map((c, i) => <rect key={i} x={i * 7} width={6} y={18 - (c / most) * 18} height={(c / most) * 18} />)}</svg>;
}

/** chosen filters and sorts the rows; a case without a value stands last in either direction. */
export function chosen(sheet: Sheet, all: readonly Row[], show: 'all' | 'failed' | 'pending', test: (read: (field: string) => unknown) => boolean, order: { by: string; descending: boolean }): Row[] {
  const rows = all.filter((r) => (show === 'all' || (show === 'failed' ? r.stage === 'failed' : r.stage !== 'done' && r.stage !== 'failed')) && test((field) => read(sheet, r, field)));
  if (order.by === 'n') return order.descending ? rows.toReversed() : rows;
  const values = new Map(rows.map((r) => [r, read(sheet, r, order.by)]));
  return rows.toSorted((a, b) => {
    const x = values.get(a) ?? null;
    const y = values.get(b) ?? null;
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    return ((x as number | string) < (y as number | string) ? -1 : x > y ? 1 : 0) * (order.descending ? -1 : 1);
  });
}

/** read gives a field of a case to the filter and the sort: of several applications the first one that has it. */
function read(sheet: Sheet, row: Row, field: string): unknown {
  const { one } = row;
  const first = one.rows[0]!;
  switch (field) {
    case 'inputs': return one.inputs;
    case 'expected': return one.expected;
    case 'status': return row.stage;
    case 'outputs': return sheet.applications.map((a) => a.output?.[first]).filter((v) => v !== null && v !== undefined).join(' ');
    case 'latency': return sheet.applications.map((a) => meanOf(a.latency, one.rows)).find((v) => v !== null) ?? null;
    case 'cost': return sheet.applications.map((a) => meanOf(a.cost, one.rows)).find((v) => v !== null) ?? null;
    case '*': return [one.inputs, one.expected, ...sheet.applications.map((a) => a.output?.[first]), ...sheet.notes.map((s) => s.values[first])].map((v) => (typeof v === 'string' ? v : JSON.stringify(v ?? ''))).join(' ');
  }
  const [kind, ...rest] = field.split(':');
  if (rest.length) {
    const app = sheet.applications.find((a) => a.key === rest.join(':'));
    return kind === 'latency' ? meanOf(app?.latency, one.rows) : kind === 'cost' ? meanOf(app?.cost, one.rows) : app?.output?.[first];
  }
  const name = field.replace(/^score\./, '');
  const score = [...sheet.scores, ...sheet.notes].find((s) => s.id === field || s.name === name);
  if (!score) return null;
  return meanOf(score.values, one.rows) ?? score.values[first] ?? null;
}

function columnsOf(sheet: Sheet, folded: ReadonlySet<string>): GridColumn<Row>[] {
  const several = sheet.applications.length > 1;
  const columns: GridColumn<Row>[] = [
    { id: 'n', title: '#', name: 'Number', width: 52, right: true, frozen: true, sortable: true, cell: (r) => <span data-stage={r.stage} className={css['stage']} title={r.stage}>{r.stage === 'failed' ? '▲ ' : r.stage === 'running' ? '◌ ' : ''}{r.n}</span> },
    { id: 'inputs', title: 'Inputs', name: 'Inputs', width: 220, frozen: true, sortable: true, cell: (r) => r.one.inputs || '–' },
  ];
  if (sheet.cases.some((c) => c.expected)) columns.push({ id: 'expected', title: 'Expected', name: 'Expected', width: 160, sortable: true, cell: (r) => r.one.expected || '–' });
  for (const app of sheet.applications) {
    const group = several ? { group: app.name } : {};
    const own = sheet.scores.filter((s) => s.application === undefined || s.application === app.key);
    const fold = several && folded.has(app.name);
    if (!fold) columns.push({ id: `output:${app.key}`, title: 'Output', name: `Output of ${app.name}`, width: 280, sortable: true, ...group, cell: (r) => outputCell(app.output?.[r.one.rows[0]!], app.status?.[r.one.rows[0]!]) });
    for (const s of own) columns.push({ ...scoreColumn(s, sheet), ...group });
    if (fold) continue;
    if (app.latency) columns.push({ id: `latency:${app.key}`, title: 'Latency', name: `Latency of ${app.name}`, width: 92, right: true, sortable: true, ...group, cell: (r) => <Duration ms={meanOf(app.latency, r.one.rows)} /> });
    if (app.cost) columns.push({ id: `cost:${app.key}`, title: 'Cost', name: `Cost of ${app.name}`, width: 96, right: true, sortable: true, ...group, cell: (r) => <Cost value={meanOf(app.cost, r.one.rows)} /> });
  }
  if (!sheet.applications.length) for (const s of sheet.scores) columns.push(scoreColumn(s, sheet));
  return columns;
}

function outputCell(output: unknown, status: unknown) {
  const stage = stageOf(status);
  if (output === null || output === undefined || output === '') return <span className={css[stage === 'failed' ? 'worse' : 'dim']}>{status === undefined ? '–' : stage}</span>;
  return typeof output === 'string' ? output : JSON.stringify(output);
}

/** scoreColumn colours numbers by their rank within the column, and shows them as well. */
function scoreColumn(score: Score, sheet: Sheet): GridColumn<Row> {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const c of sheet.cases) {
    const v = meanOf(score.values, c.rows);
    if (v === null) continue;
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  const range = low < high ? `from ${showScore(low)} to ${showScore(high)}` : '';
  return {
    id: score.id, title: score.name, name: `${score.name} ${range}`, width: Math.min(180, Math.max(84, score.name.length * 7 + 30)), right: true, sortable: true,
    cell: (r) => {
      const { rows } = r.one;
      const mean = meanOf(score.values, rows);
      if (mean === null) {
        const stage = score.status ? stageOf(score.status[rows[0]!]) : undefined;
        return <span className={css[stage === 'failed' ? 'worse' : 'dim']}>{stage === undefined || stage === 'done' ? '–' : stage}</span>;
      }
      const spread = spreadOf(score.values, rows);
      const raw = score.values[rows[0]!];
      return (
        <span className={css['heat']} data-rank={low < high ? Math.round(((mean - low) / (high - low)) * 4) : undefined} title={spread ? `${rows.length} repeats from ${showScore(spread[0])} to ${showScore(spread[1])}` : range}>
          {rows.length > 1 && spread ? <>{showScore(mean)}<small> ±{showScore((spread[1] - spread[0]) / 2)}</small></> : typeof raw === 'boolean' ? <ScoreValue value={raw} /> : showScore(asNumber(mean))}
        </span>
      );
    },
  };
}

/** membersOf reads the columns of a testcase out of the preview of its inputs: "country: France, region: north". A value with a comma ends there. */
export function membersOf(inputs: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const part of inputs.split(', ')) {
    const m = /^([\w.-]{1,60}): (.{1,80})$/.exec(part);
    if (m) found[m[1]!] = m[2]!;
  }
  return found;
}

function GroupBy({ rows, value, onChange }: { rows: readonly Row[]; value: string; onChange: (member: string) => void }) {
  const members = useMemo(() => {
    const found = new Map<string, Set<string>>();
    for (const r of rows) for (const [name, v] of Object.entries(membersOf(r.one.inputs))) found.set(name, (found.get(name) ?? new Set()).add(v));
    return [...found].filter(([, values]) => values.size > 1 && values.size <= Math.max(2, rows.length / 2)).map(([name]) => name);
  }, [rows]);
  if (!members.length && !value) return null;
  return <label className={css['facet']}>Group by <select value={value} onChange={(e) => onChange(e.target.value)}><option value="">–</option>{members.map((m) => <option key={m}>{m}</option>)}</select></label>;
}

/** Grouped has the means of every score for each value of a member of the inputs. */
function Grouped({ sheet, rows, member, onPick }: { sheet: Sheet; rows: readonly Row[]; member: string; onPick: (value: string) => void }) {
  const groups = new Map<string, Row[]>();
  for (const r of rows) {
    const v = membersOf(r.one.inputs)[member] ?? '–';
    const group = groups.get(v);
    if (group) group.push(r);
    else groups.set(v, [r]);
  }
  const mean = (list: readonly Row[], values: readonly unknown[] | undefined) => {
    const there = list.map((r) => meanOf(values, r.one.rows)).filter((v) => v !== null);
    return there.length ? there.reduce((a, b) => a + b, 0) / there.length : null;
  };
  return (
    <div className={css['stats']} tabIndex={0} role="group" aria-label={`Means by ${member}`}>
      <table>
        <thead><tr><th>{member}</th><th>cases</th>{sheet.scores.map((s) => <th key={s.id}>{s.name}</th>)}{sheet.applications.map((a) => <th key={a.key}>latency</th>)}</tr></thead>
        <tbody>{[...groups].toSorted((a, b) => b[1].length - a[1].length).slice(0, 50).map(([value, list]) => (
          <tr key={value}><th><button type="button" onClick={() => onPick(value)}>{value}</button></th><td>{showCount(list.length)}</td>{sheet.scores.map((s) => <td key={s.id}>{showScore(mean(list, s.values))}</td>)}{sheet.applications.map((a) => <td key={a.key}>{showDuration(mean(list, a.latency))}</td>)}</tr>
        ))}</tbody>
      </table>
    </div>
  );
}

/** csvOf writes the cases of a run as CSV; what a spreadsheet would take for a formula gets an apostrophe. */
export function csvOf(sheet: Sheet): string {
  const cell = (v: unknown) => {
    const plain = v === null || v === undefined ? '' : typeof v === 'object' ? JSON.stringify(v) : String(v);
    const safe = typeof v === 'string' && /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const outputs = [...sheet.scores, ...sheet.notes];
  const head = ['scenario_id', 'testcase_id', 'repeat', 'inputs', 'expected', ...sheet.applications.flatMap((a) => [`${a.name} output`, `${a.name} status`, `${a.name} latency_ms`, `${a.name} cost`, `${a.name} trace_id`]), ...outputs.map((s) => s.id)];
  const lines = sheet.cases.flatMap((c) => c.rows.map((i, k) => [c.scenario, c.testcase, k, c.inputs, c.expected, ...sheet.applications.flatMap((a) => [a.output?.[i], a.status?.[i], a.latency?.[i], a.cost?.[i], a.trace?.[i]]), ...outputs.map((s) => s.values[i])]));
  return [head, ...lines].map((line) => line.map(cell).join(',')).join('\r\n');
}

function download(sheet: Sheet, name: string): void {
  const url = URL.createObjectURL(new Blob([csvOf(sheet)], { type: 'text/csv' }));
  const a = document.createElement('a');
  a.href = url;
  a.download = `${name.replaceAll(/[^\w.-]+/g, '-')}.csv`;
  a.click();
  URL.revokeObjectURL(url);
}
