import { useMemo, useState } from 'react';
import type { Annotation } from '../../api/types';
import { Link } from '../../kit/link/link';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { Table, type Column } from '../../kit/table/table';
import { Score, Time } from '../../kit/value/value';
import { useClock } from '../../shell/clock';
import { address, go } from '../../shell/place';
import { useApi } from '../../shell/session';
import { useTitle } from '../../shell/shell';
import { showCount } from '../../url/number';
import { text } from '../../url/state';
import { useUrlState } from '../../url/use';
import { kappa, spearman } from '../../worker/stats';
import css from './page.module.css';

const schema = { evaluator: text(), origin: text(), kind: text(), channel: text() };

const about = (a: Annotation) => Object.values(a.links ?? {})[0];
const slug = (a: Annotation) => a.references?.['evaluator']?.slug ?? 'none';

const COLUMNS: readonly Column<Annotation>[] = [
  { id: 'when', title: 'When', width: 196, cell: (a) => (a.created_at ? <Time at={a.created_at} /> : '–') },
  { id: 'evaluator', title: 'Evaluator', width: 150, cell: (a) => <b>{slug(a)}</b> },
  { id: 'values', title: 'Values', width: 240, grow: true, cell: (a) => <span className={css['values']}>{Object.entries(a.data?.outputs ?? {}).filter(([name]) => name !== 'comment').map(([name, value]) => <span key={name}>{name} <Score value={value} /></span>)}</span> },
  { id: 'comment', title: 'Comment', width: 240, grow: true, minor: true, cell: (a) => String(a.data?.outputs?.['comment'] ?? '–') },
  { id: 'origin', title: 'Origin', width: 90, cell: (a) => a.origin ?? '–' },
  { id: 'channel', title: 'Channel', width: 90, minor: true, cell: (a) => a.channel ?? '–' },
  { id: 'about', title: 'About', width: 150, minor: true, mono: true, cell: (a) => { const l = about(a); return l ? <Link to={`/traces/${l.trace_id}`} state={`tab=feedback${l.span_id ? `&span=${l.span_id}` : ''}`}>{l.trace_id.slice(0, 12)}</Link> : '–'; } },
];

/** Feedback is what people and evaluators say, and how far two of them agree. */
export default function Feedback() {
  useTitle('Feedback');
  const clock = useClock();
  const [state, set] = useUrlState(schema);
  const [current, setCurrent] = useState<string>();
  const found = useApi<{ annotations?: Annotation[] }>('POST', '/annotations/query', { body: { windowing: { oldest: clock.oldest, newest: clock.newest, limit: 1000 } } });
  const all = useMemo(() => found.data?.annotations ?? [], [found.data]);
  const rows = useMemo(() => all.filter((a) => (!state.evaluator || slug(a) === state.evaluator) && (!state.origin || a.origin === state.origin) && (!state.kind || a.kind === state.kind) && (!state.channel || a.channel === state.channel)), [all, state]);
  return (
    <div className={css['page']}>
      <div className={css['top']}>
        <h1>Feedback</h1>
        <div className={css['facets']}>
          <Facet name="Evaluator" values={all.map(slug)} value={state.evaluator} onChange={(evaluator) => set({ evaluator })} />
          <Facet name="Origin" values={all.map((a) => a.origin ?? '')} value={state.origin} onChange={(origin) => set({ origin })} />
          <Facet name="Kind" values={all.map((a) => a.kind ?? '')} value={state.kind} onChange={(kind) => set({ kind })} />
          <Facet name="Channel" values={all.map((a) => a.channel ?? '')} value={state.channel} onChange={(channel) => set({ channel })} />
        </div>
        <Agreement all={all} />
      </div>
      <div className={css['list']}>
        {found.error ? <Failure error={found.error} retry={() => void found.refetch()} />
          : found.isPending ? <Skeleton rows={12} />
            : rows.length === 0 ? <Empty title="No feedback in this range.">A trace is annotated on its page with the key <kbd>a</kbd>, or by API with POST /annotations/.</Empty>
              : <Table label="Feedback" rows={rows} columns={COLUMNS} rowKey={(a) => a.trace_id} current={current} onCurrent={setCurrent} dimmed={found.isPlaceholderData}
                onOpen={(a, { newTab }) => { const l = about(a); if (!l) return; const to = address(`/traces/${l.trace_id}`, `tab=feedback${l.span_id ? `&span=${l.span_id}` : ''}`); if (newTab) window.open(to, '_blank', 'noopener'); else go(to); }}
                footer={all.length === 1000 ? 'The latest 1 000 of this range' : `${showCount(rows.length)} of ${showCount(all.length)}`} />}
      </div>
    </div>
  );
}

function Facet({ name, values, value, onChange }: { name: string; values: readonly string[]; value: string; onChange: (value: string) => void }) {
  const counts = new Map<string, number>();
  for (const v of values) if (v) counts.set(v, (counts.get(v) ?? 0) + 1);
  if (counts.size < 2 && !value) return null;
  return (
    <label>{name}
      <select value={value} onChange={(e) => onChange(e.target.value)}>
        <option value="">all</option>
        {[...counts].toSorted((a, b) => b[1] - a[1]).map(([v, n]) => <option key={v} value={v}>{v} ({n})</option>)}
      </select>
    </label>
  );
}

/** Agreement compares the two evaluators that have most traces in common. */
function Agreement({ all }: { all: readonly Annotation[] }) {
  const result = useMemo(() => agreement(all), [all]);
  if (!result) return null;
  return <p className={css['agree']} role="note"><b>{result.a}</b> and <b>{result.b}</b> over {showCount(result.n)} traces of both: {result.kind} {result.value.toFixed(2).replace('-', '−')}</p>;
}

export function agreement(all: readonly Annotation[]): { a: string; b: string; n: number; kind: string; value: number } | null {
  const by = new Map<string, Map<string, unknown>>();
  for (const one of all.slice(0, 20_000)) {
    const trace = about(one)?.trace_id;
    const outputs = one.data?.outputs ?? {};
    const value = outputs['score'] ?? outputs['success'] ?? outputs['label'];
    if (!trace || value === undefined) continue;
    const values = by.get(slug(one)) ?? new Map<string, unknown>();
    values.set(trace, value);
    by.set(slug(one), values);
  }
  const names = [...by.keys()];
  let best: { a: string; b: string; traces: string[] } | null = null;
  for (let i = 0; i < names.length; i++) {
    for (let j = i + 1; j < names.length; j++) {
      const traces = [...by.get(names[i]!)!.keys()].filter((t) => by.get(names[j]!)!.has(t));
      if (traces.length >= 3 && traces.length > (best?.traces.length ?? 0)) best = { a: names[i]!, b: names[j]!, traces };
    }
  }
  if (!best) return null;
  const { a, b, traces } = best;
  const x = traces.map((t) => by.get(a)!.get(t));
  const y = traces.map((t) => by.get(b)!.get(t));
  const numbers = [...x, ...y].every((v) => typeof v === 'number');
  const value = numbers ? spearman(x as number[], y as number[]) : kappa(x.map(String), y.map(String));
  return value === null ? null : { a, b, n: traces.length, kind: numbers ? "Spearman's ρ" : "Cohen's κ", value };
}
