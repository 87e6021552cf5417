import { GitCompareArrows, Plus } from 'lucide-react';
import { useMemo, useState } from 'react';
import { Button } from '../../kit/button/button';
import { SeriesChart } from '../../kit/chart/series';
import { Link } from '../../kit/link/link';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { Table, type Column } from '../../kit/table/table';
import { Ago, Cost, Duration } from '../../kit/value/value';
import { useClock } from '../../shell/clock';
import { useKeys } from '../../shell/keys';
import { address, go } from '../../shell/place';
import { may } from '../../shell/session';
import { useTitle } from '../../shell/shell';
import { showCount, showScore } from '../../url/number';
import { flag, list, text } from '../../url/state';
import { parseIso } from '../../url/time';
import { useUrlState } from '../../url/use';
import { stepsOf, underWay, useMeans, useRuns, type Means, type Run } from './data';
import { applicationName, evaluatorName, testsetName } from './sheet';
import css from './page.module.css';

const schema = { status: text(), testset: text(), app: text(), sel: list([]), trend: flag(), by: text() };

const appsOf = (r: Run) => [...new Set(stepsOf(r).filter((s) => s.type === 'invocation').map(applicationName))];
const judgesOf = (r: Run) => [...new Set(stepsOf(r).filter((s) => s.type === 'annotation').map(evaluatorName))];

/** List shows the runs of the project, and one score over the runs of one testset and application. */
export function List() {
  useTitle('Evaluations');
  const [state, set] = useUrlState(schema);
  const { found, runs } = useRuns();
  const [current, setCurrent] = useState<string>();
  const { means } = useMeans(runs);
  const rows = useMemo(() => runs.filter((r) => (!state.status || r.status === state.status) && (!state.testset || testsetName(stepsOf(r)) === state.testset) && (!state.app || appsOf(r).includes(state.app))), [runs, state.status, state.testset, state.app]);
  const selected = useMemo(() => new Set(state.sel), [state.sel]);
  const columns = useMemo(() => columnsOf(means), [means]);
  const compare = () => go(address('/evaluations/compare', `runs=${[...selected].join(',')}`));
  useKeys('Evaluations', {
    ...(may('edit_evaluations') && { n: { about: 'New evaluation', run: () => go(address('/evaluations/new')) } }),
    ...(selected.size >= 2 && { C: { about: 'Compare what is selected', run: compare } }),
  });
  return (
    <div className={css['page']}>
      <div className={css['top']}>
        <h1>Evaluations</h1>
        <Facet name="Status" values={runs.map((r) => r.status ?? '')} value={state.status} onChange={(status) => set({ status })} />
        <Facet name="Testset" values={runs.map((r) => testsetName(stepsOf(r)))} value={state.testset} onChange={(testset) => set({ testset })} />
        <Facet name="Application" values={runs.flatMap(appsOf)} value={state.app} onChange={(app) => set({ app })} />
        <span className={css['space']} />
        {selected.size > 0 && <Button small look="quiet" onPress={() => set({ sel: [] })}>Clear {selected.size}</Button>}
        {selected.size >= 2 && <Button small icon={GitCompareArrows} onPress={compare}>Compare {selected.size}</Button>}
        {runs.length > 1 && <Button small look="quiet" pressed={state.trend} onPress={() => set({ trend: !state.trend })}>Trend</Button>}
        {may('edit_evaluations') && <Button small look="accent" icon={Plus} onPress={() => go(address('/evaluations/new'))}>New</Button>}
      </div>
      {state.trend && <Trend runs={rows} means={means} by={state.by} onBy={(by) => set({ by })} />}
      <div className={css['list']}>
        {found.error ? <Failure error={found.error} retry={() => void found.refetch()} />
          : found.isPending ? <Skeleton rows={10} />
            : rows.length === 0 ? (
              <Empty title={runs.length ? 'No run is of this kind.' : 'No evaluation has run yet.'} actions={runs.length ? <Button onPress={() => set({ status: '', testset: '', app: '' })}>All runs</Button> : may('edit_evaluations') && <Button look="accent" onPress={() => go(address('/evaluations/new'))}>New evaluation</Button>}>
                {!runs.length && <p>An evaluation runs an application over a testset and scores its answers.</p>}
              </Empty>
            ) : <Table label="Evaluations" rows={rows} columns={columns} rowKey={(r) => r.id} current={current} onCurrent={setCurrent} selected={selected} onSelect={(keys) => set({ sel: [...keys] }, 'replace')}
              onOpen={(r, { newTab }) => { const to = address(`/evaluations/${r.id}`); if (newTab) window.open(to, '_blank', 'noopener'); else go(to); }} />}
      </div>
    </div>
  );
}

function columnsOf(means: ReadonlyMap<string, Means>): Column<Run>[] {
  return [
    { id: 'name', title: 'Name', width: 220, grow: true, cell: (r) => <Link to={`/evaluations/${r.id}`}>{r.name ?? r.id.slice(0, 8)}</Link> },
    { id: 'status', title: 'Status', width: 100, cell: (r) => <span className={css['status']} data-on={underWay(r) || undefined} data-bad={r.status === 'errors' || r.status === 'failure' || undefined}>{r.status ?? '–'}</span> },
    { id: 'testset', title: 'Testset', width: 150, minor: true, cell: (r) => testsetName(stepsOf(r)) },
    { id: 'apps', title: 'Applications', width: 160, minor: true, cell: (r) => appsOf(r).join(', ') || '–' },
    {
      id: 'scores', title: 'Scores', width: 280, grow: true, minor: true, cell: (r) => {
        const all = [...(means.get(r.id)?.scores ?? [])];
        if (!all.length) return <span className={css['dim']}>{judgesOf(r).join(', ') || '–'}</span>;
        return <span className={css['scores']}>{all.slice(0, 4).map(([name, s]) => <span key={name}>{name} <b>{showScore(s.mean)}</b><Meter share={s.mean} /></span>)}</span>;
      },
    },
    { id: 'latency', title: 'Latency', width: 90, right: true, minor: true, cell: (r) => <Duration ms={means.get(r.id)?.latency} /> },
    { id: 'cost', title: 'Cost', width: 96, right: true, minor: true, cell: (r) => <Cost value={means.get(r.id)?.cost} /> },
    { id: 'started', title: 'Started', width: 136, cell: (r) => <Ago at={r.created_at} /> },
  ];
}

/** Meter is a bar for means between 0 and 1; other scales have no known end. */
function Meter({ share }: { share: number }) {
  if (share < 0 || share > 1) return null;
  return <i className={css['meter']} aria-hidden="true" ref={(e) => e?.style.setProperty('--share', `${share * 100}%`)} />;
}

export function Facet({ name, values, value, onChange }: { name: string; values: readonly string[]; value: string; onChange: (value: string) => void }) {
  const counts = new Map<string, number>();
  for (const v of values) if (v) counts.set(v, (counts.get(v) ?? 0) + 1);
  if (counts.size < 2 && !value) return null;
  return (
    <label className={css['facet']}>{name}
      <select value={value} onChange={(e) => onChange(e.target.value)}>
        <option value="">all</option>
        {[...counts].toSorted((a, b) => b[1] - a[1]).map(([v, n]) => <option key={v} value={v}>{v} ({n})</option>)}
      </select>
    </label>
  );
}

/** Trend draws one score over the runs of the same testset, a line for each application. */
function Trend({ runs, means, by, onBy }: { runs: readonly Run[]; means: ReadonlyMap<string, Means>; by: string; onBy: (by: string) => void }) {
  const clock = useClock();
  const names = [...new Set(runs.flatMap((r) => [...(means.get(r.id)?.scores.keys() ?? [])]))].toSorted();
  const name = names.includes(by) ? by : names[0];
  const points = runs.filter((r) => name !== undefined && means.get(r.id)?.scores.has(name)).toSorted((a, b) => a.created_at.localeCompare(b.created_at));
  if (name === undefined || points.length < 2) return <p className={css['note']} role="status">A trend needs two runs with the same score.</p>;
  const at = points.map((r) => parseIso(r.created_at) ?? 0n);
  const from = at[0]!;
  const to = at.at(-1)! > from ? at.at(-1)! + (at.at(-1)! - from) / 20n : from + 1_000_000n;
  // Versions of one application are one line.
  const plain = (r: Run) => `${appsOf(r).map((a) => a.replace(/ v\d+$/, '')).join(', ') || 'no application'} · ${testsetName(stepsOf(r)).replace(/ v\d+$/, '')}`;
  const lines = [...new Set(points.map(plain))];
  return (
    <div className={css['trend']}>
      <SeriesChart title={`Mean of ${name}`} at={at} step={(to - from) / 24n || 1n} from={from} to={to} zone={clock.zone} kind="line" format={showScore} height={110} onZoom={() => undefined} points
        extra={<label className={css['facet']}>Score <select value={name} onChange={(e) => onBy(e.target.value)}>{names.map((n) => <option key={n}>{n}</option>)}</select></label>}
        series={lines.map((l, i) => ({ name: l, colour: `series-${(i % 8) + 1}`, ...(i % 2 && { dash: '5 3' }), values: points.map((r) => (plain(r) === l ? means.get(r.id)!.scores.get(name)!.mean : null)) }))} />
      <p className={css['note']}>{showCount(points.length)} runs</p>
    </div>
  );
}
