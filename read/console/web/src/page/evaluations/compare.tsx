import { useEffect, useMemo, useState } from 'react';
import { Button, Choice } from '../../kit/button/button';
import { Changes, WordDiff } from '../../kit/diff/diff';
import { Grid, type GridColumn, type Spot } from '../../kit/grid/grid';
import { Link } from '../../kit/link/link';
import { Split } from '../../kit/panel/panel';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { Score as ScoreValue } from '../../kit/value/value';
import { address, go } from '../../shell/place';
import { useApi } from '../../shell/session';
import { useTitle } from '../../shell/shell';
import { showCost, showCount, showDuration, showPercent, showScore } from '../../url/number';
import { list, sort, text, word } from '../../url/state';
import { useUrlState } from '../../url/use';
import type { Compared, Paired } from '../../worker/stats';
import { stepsOf, useGrids, type Run } from './data';
import { applicationName, inCommon, meanOf, pair, readSheet, sideOf, verdict, type Case, type Sheet, type Side } from './sheet';
import css from './page.module.css';

const schema = { runs: list([]), base: text(), vs: text(), only: word(['all', 'worse', 'better', 'differ'], 'all'), by: text(), sort: sort({ by: 'delta', descending: false }), sel: text() };

/** useCompared computes in a worker, so that the page goes on while 10 000 pairs are resampled. */
function useCompared(scores: Paired[] | undefined): Compared[] | undefined {
  const [result, setResult] = useState<{ of: Paired[]; compared: Compared[] }>();
  useEffect(() => {
    if (!scores) return;
    const worker = new Worker(new URL('../../worker/stats.worker.ts', import.meta.url), { type: 'module' });
    worker.addEventListener('message', (event: MessageEvent<{ result: Compared[] }>) => setResult({ of: scores, compared: event.data.result }));
    worker.postMessage({ id: 0, scores });
    return () => worker.terminate();
  }, [scores]);
  return result && result.of === scores ? result.compared : undefined;
}

interface Column { run: Run; sheet: Sheet; side: Side; name: string; application: string | undefined }

/** Compare says which of two versions is better: differences of the same cases, and how far chance explains them. */
export function Compare() {
  useTitle('Compare', 'Evaluations');
  const [state] = useUrlState(schema);
  // One run with several applications is compared with itself: run.application.
  const ids = useMemo(() => [...new Set(state.runs.map((r) => r.split('~')[0]!))], [state.runs]);
  const found = useApi<{ runs?: Run[] }>('POST', '/evaluations/runs/query', { body: { run: { ids } } }, { enabled: ids.length > 0 });
  const { grids, error, again } = useGrids(ids, false);
  const columns = useMemo(() => {
    const runs = found.data?.runs;
    if (!runs || grids.some((g) => !g)) return undefined;
    return state.runs.flatMap((ref): Column[] => {
      const [id, application] = ref.split('~');
      const run = runs.find((r) => r.id === id);
      const grid = ids.indexOf(id!);
      if (!run || !grids[grid]) return [];
      const sheet = readSheet(grids[grid], stepsOf(run));
      return [{ run, sheet, side: sideOf(sheet, application), application, name: `${run.name ?? run.id.slice(0, 8)}${application ? ` · ${sheet.applications.find((a) => a.key === application)?.name ?? ''}` : ''}` }];
    });
    // Grids are new objects only when they were asked again.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [found.data, state.runs, ids, ...grids]);
  if (state.runs.length < 2) return <Empty title="Choose two runs to compare." actions={<Link to="/evaluations">Evaluations</Link>}><h1 className="sr">Compare</h1></Empty>;
  const failed = error ?? found.error;
  if (failed) return <><h1 className="sr">Compare</h1><Failure error={failed} retry={() => { again(); void found.refetch(); }} /></>;
  if (!columns) return <><h1 className="sr">Compare</h1><Skeleton rows={10} /></>;
  if (columns.length < 2) return <Empty title="One of these runs is not there." actions={<Link to="/evaluations">Evaluations</Link>}><h1 className="sr">Compare</h1></Empty>;
  return <Loaded columns={columns} refs={state.runs} />;
}

const value = (c: Column, id: string, name: string) => meanOf(c.side.columns.get(name), c.side.cases.get(id)?.rows);

const deltaCell = (name: string, higher: boolean) => (l: Line) => <span className={css[l.delta === null || l.delta === 0 ? 'even' : l.delta > 0 === higher ? 'better' : 'worse']}>{signed(name, l.delta)}</span>;

interface Line { id: string; one: Case; delta: number | null }

function Loaded({ columns, refs }: { columns: readonly Column[]; refs: readonly string[] }) {
  const [state, set] = useUrlState(schema);
  const baseAt = Math.max(0, refs.indexOf(state.base));
  const otherAt = state.vs && refs.indexOf(state.vs) >= 0 && refs.indexOf(state.vs) !== baseAt ? refs.indexOf(state.vs) : baseAt === 0 ? 1 : 0;
  const base = columns[baseAt] ?? columns[0]!;
  const other = columns[otherAt] ?? columns[1]!;
  const { common, only } = useMemo(() => inCommon(columns.map((c) => c.side)), [columns]);
  const scores = useMemo(() => pair(base.side, other.side, common), [base, other, common]);
  const compared = useCompared(scores);
  const [at, setAt] = useState<Spot>({ row: 0, column: 0 });
  const by = scores.some((s) => s.name === state.by) ? state.by : (scores[0]?.name ?? '');
  const higher = scores.find((s) => s.name === by)?.higher ?? true;
  const lines = useMemo(() => {
    const all = common.map((id): Line => {
      const a = value(base, id, by);
      const b = value(other, id, by);
      return { id, one: base.side.cases.get(id)!, delta: a === null || b === null ? null : b - a };
    }).filter((l) => state.only === 'all' || (l.delta !== null && l.delta !== 0 && (state.only === 'differ' || (l.delta > 0 === higher) === (state.only === 'better'))));
    const key = (l: Line): number | string | null => (state.sort.by === 'delta' ? (l.delta === null ? null : l.delta * (higher ? 1 : -1)) : l.one.inputs);
    return all.toSorted((a, b) => {
      const x = key(a);
      const y = key(b);
      if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
      return (x < y ? -1 : x > y ? 1 : 0) * (state.sort.descending ? -1 : 1);
    });
  }, [common, base, other, by, higher, state.only, state.sort]);
  const open = common.includes(state.sel) ? state.sel : undefined;
  const output = (c: Column, id: string) => {
    const app = c.sheet.applications.find((a) => a.key === c.application) ?? c.sheet.applications[0];
    const v = app?.output?.[c.side.cases.get(id)?.rows[0] ?? -1];
    return v === null || v === undefined ? '–' : typeof v === 'string' ? v : JSON.stringify(v);
  };
  const grid: GridColumn<Line>[] = [
    { id: 'case', title: 'Case', name: 'Case', width: 220, frozen: true, sortable: true, cell: (l) => l.one.inputs || l.id.slice(0, 8) },
    { id: 'delta', title: 'Δ', name: `Difference of ${by}`, width: 92, right: true, sortable: true, cell: deltaCell(by, higher) },
    ...(common.some((id) => base.side.cases.get(id)!.expected) ? [{ id: 'expected', title: 'Expected', name: 'Expected', width: 150, cell: (l: Line) => l.one.expected || '–' }] : []),
    ...columns.flatMap((c, i): GridColumn<Line>[] => [
      { id: `o${i}`, title: 'Output', name: `Output of ${c.name}`, width: 260, group: c.name, cell: (l) => output(c, l.id) },
      { id: `v${i}`, title: by, name: `${by} of ${c.name}`, width: 100, right: true, group: c.name, cell: (l) => show(by, value(c, l.id, by)) },
    ]),
  ];
  return (
    <Split label="Case" onClose={() => set({ sel: '' })} initial={Math.round(innerWidth * 0.42)} panel={open ? <Pair base={base} other={other} id={open} outputs={[output(base, open), output(other, open)]} /> : null}>
      <div className={css['page']}>
        <div className={css['top']}>
          <p className={css['crumb']}><Link to="/evaluations">Evaluations</Link></p>
          <h1>{base.name} <span className={css['vs']}>against</span> {other.name}</h1>
          <label className={css['facet']}>Base <select value={refs[baseAt]} onChange={(e) => set({ base: e.target.value, vs: e.target.value === refs[otherAt] ? refs[baseAt]! : refs[otherAt]! })}>{columns.map((c, i) => <option key={refs[i]} value={refs[i]}>{c.name}</option>)}</select></label>
          {columns.length > 2 && <label className={css['facet']}>Against <select value={refs[otherAt]} onChange={(e) => set({ vs: e.target.value })}>{columns.map((c, i) => i !== baseAt && <option key={refs[i]} value={refs[i]}>{c.name}</option>)}</select></label>}
          <Button small onPress={() => set({ base: refs[otherAt]!, vs: refs[baseAt]! })}>Swap</Button>
          <span className={css['crumb']} role="status">{showCount(common.length)} cases in common{only > 0 && `, ${showCount(only)} not in all`}</span>
        </div>
        <Stats compared={compared} scores={scores} names={[base.name, other.name]} by={by} onBy={(name) => set({ by: name })} />
        <Configurations base={base} other={other} />
        <div className={css['tools']}>
          <Choice label="Which cases" value={state.only} onChange={(which) => set({ only: which })} options={[['all', 'All'], ['worse', 'Only worse'], ['better', 'Only better'], ['differ', 'Differ']]} />
          <label className={css['facet']}>by <select value={by} onChange={(e) => set({ by: e.target.value })}>{scores.map((s) => <option key={s.name}>{s.name}</option>)}</select></label>
          <span className={css['crumb']} role="status">{showCount(lines.length)} cases, {showPercent(common.length ? lines.length / common.length : null, 0)}</span>
        </div>
        <div className={css['list']}>
          {lines.length ? <Grid label="Cases" rows={lines} columns={grid} rowKey={(l) => l.id} at={at} onAt={(next) => { setAt(next); if (open && lines[next.row]) set({ sel: lines[next.row]!.id }, 'replace'); }} sort={state.sort}
            onSort={(column) => set({ sort: { by: column, descending: state.sort.by === column ? !state.sort.descending : false } })}
            onOpen={(l, { shift }) => { if (shift) openDiff(base, other, l.id); else set({ sel: l.id }); }} />
            : <Empty title={common.length ? 'No case is of this kind.' : 'These runs have no case in common.'}>{!common.length && 'Cases are the same where they come from the same testcase.'}</Empty>}
        </div>
      </div>
    </Split>
  );
}

function traceOf(c: Column, id: string): string | undefined {
  const app = c.sheet.applications.find((a) => a.key === c.application) ?? c.sheet.applications[0];
  const trace = app?.trace?.[c.side.cases.get(id)?.rows[0] ?? -1];
  return typeof trace === 'string' ? trace : undefined;
}

function openDiff(base: Column, other: Column, id: string): void {
  const [a, b] = [traceOf(base, id), traceOf(other, id)];
  if (a && b) go(address(`/traces/${a}`, `diff=${b}`));
}

function Stats({ compared, scores, names, by, onBy }: { compared: Compared[] | undefined; scores: readonly Paired[]; names: readonly [string, string]; by: string; onBy: (name: string) => void }) {
  return (
    <div className={css['stats']} tabIndex={0} role="group" aria-label="Scores">
      <table>
        <thead><tr><th>Score</th><th>{names[0]}</th><th>{names[1]}</th><th>Δ</th><th>95 % interval</th><th title="After Holm's correction over the scores shown">p</th><th title="cases that went up">▲</th><th title="cases that went down">▼</th><th title="cases that stayed">=</th><th>Verdict</th></tr></thead>
        <tbody>
          {(compared ?? []).map((c, i) => {
            const outcome = verdict(c, scores[i]?.higher ?? null);
            return (
              <tr key={c.name} data-on={c.name === by || undefined}>
                <th><button type="button" onClick={() => onBy(c.name)}>{c.name}</button></th><td>{show(c.name, c.base)}</td><td>{show(c.name, c.other)}</td><td>{signed(c.name, c.delta)}</td>
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
      <p className={css['note']}>Differences are of the same cases, repeats averaged before. Intervals are by bootstrap; p is by sign flips, or by McNemar's exact test for yes and no, corrected by Holm's method.</p>
    </div>
  );
}

interface Revisions { application_revisions?: { id: string; data?: { parameters?: unknown; uri?: unknown; script?: unknown } }[] }

/** Configurations lists once what differs between the two application revisions. */
function Configurations({ base, other }: { base: Column; other: Column }) {
  const idOf = (c: Column) => stepsOf(c.run).find((s) => s.type === 'invocation' && (c.application === undefined || s.key === c.application))?.references['application_revision'];
  const [a, b] = [idOf(base), idOf(other)];
  const ids = [...new Set([a?.id, b?.id].filter((id) => id !== undefined))];
  const found = useApi<Revisions>('POST', '/applications/revisions/query', { body: { application_revision_refs: ids.map((id) => ({ id })) } }, { enabled: ids.length === 2, staleTime: Number.POSITIVE_INFINITY });
  if (ids.length < 2 || !found.data) return null;
  const of = (id: string | undefined) => found.data.application_revisions?.find((r) => r.id === id)?.data;
  const nameOf = (c: Column) => {
    const step = stepsOf(c.run).find((s) => s.type === 'invocation' && (c.application === undefined || s.key === c.application));
    return step ? applicationName(step) : c.name;
  };
  return <details className={css['config']}><summary>What differs between {nameOf(base)} and {nameOf(other)}</summary><Changes from={of(a?.id)} to={of(b?.id)} names={[nameOf(base), nameOf(other)]} /></details>;
}

/** Pair shows one case of two runs side by side. */
function Pair({ base, other, id, outputs }: { base: Column; other: Column; id: string; outputs: readonly [string, string] }) {
  const [diff, setDiff] = useState(true);
  const one = base.side.cases.get(id)!;
  const names = [...new Set([...base.side.columns.keys(), ...other.side.columns.keys()])];
  const notes = (c: Column) => c.sheet.notes.filter((s) => s.application === undefined || s.application === c.application).map((s) => [s.name, s.values[c.side.cases.get(id)?.rows[0] ?? -1]] as const).filter(([, v]) => v !== null && v !== undefined);
  const [a, b] = [traceOf(base, id), traceOf(other, id)];
  return (
    <div className={css['case']}>
      <header><h2>{one.inputs || id}</h2></header>
      {one.expected && <section><h3>expected</h3><p className={css['text']}>{one.expected}</p></section>}
      <section>
        <header className={css['answer']}><h3>outputs</h3><Button small look="quiet" pressed={diff} onPress={() => setDiff(!diff)}>Differences</Button>
          {a && <Link to={`/traces/${a}`}>trace of the base</Link>}{b && <Link to={`/traces/${b}`}>trace of the other</Link>}{a && b && <Link to={`/traces/${a}`} state={`diff=${b}`}>compare the traces</Link>}</header>
        <div className={css['sides']}>
          <div><h4>{base.name}</h4><p className={css['text']}>{outputs[0]}</p></div>
          <div><h4>{other.name}</h4>{diff ? <WordDiff from={outputs[0]} to={outputs[1]} /> : <p className={css['text']}>{outputs[1]}</p>}</div>
        </div>
      </section>
      <section>
        <h3>scores</h3>
        <table className={css['small']}>
          <thead><tr><th><span className="sr">Score</span></th><th>{base.name}</th><th>{other.name}</th></tr></thead>
          <tbody>{names.map((name) => <tr key={name}><th>{name}</th>{[base, other].map((c, i) => <td key={i}>{show(name, meanOf(c.side.columns.get(name), c.side.cases.get(id)?.rows))}</td>)}</tr>)}</tbody>
        </table>
      </section>
      {[base, other].map((c, i) => notes(c).length > 0 && (
        <section key={i}><h3>{c.name}</h3><dl className={css['notes']}>{notes(c).map(([name, v]) => <div key={name}><dt>{name}</dt><dd><ScoreValue value={v} /></dd></div>)}</dl></section>
      ))}
    </div>
  );
}

function show(name: string, v: number | null): string {
  return name === 'latency' ? showDuration(v) : name === 'cost' ? showCost(v) : showScore(v);
}

function signed(name: string, v: number | null): string {
  if (v === null) return '–';
  return v > 0 ? `+${show(name, v)}` : show(name, v);
}
