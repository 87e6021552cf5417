import { useEffect, useMemo, useState } from 'react';
import type { Columns } from '../../api/types';
import { Button } from '../../kit/button/button';
import { Dialog } from '../../kit/dialog/dialog';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { toast } from '../../kit/toast/toast';
import { client, queries, useApi } from '../../shell/session';
import { showCount } from '../../url/number';
import { rowsOf } from '../traces/data';
import { pathsOf, problem, propose, slugOf, testcases, type Mapping, type Source, type Testcase } from './map';
import css from './add.module.css';

interface Testset { id: string; slug: string; name?: string; variant_id?: string; revision_id?: string; version?: string }

/** The most spans in one commit. */
export const MOST = 1000;

interface Props {
  close: () => void;
  /** Spans that testcases are made of, by trace and span id. */
  spans?: readonly { trace: string; span: string }[];
  /** Or testcases of other testsets that are copied. */
  testcases?: readonly string[];
}

/** AddToTestset makes testcases of spans, or copies testcases, into a testset that is there or a new one. */
export function AddToTestset({ close, spans, testcases: copied }: Props) {
  if (copied) return <Copy ids={copied} close={close} />;
  return <FromSpans spans={(spans ?? []).slice(0, MOST)} left={Math.max(0, (spans?.length ?? 0) - MOST)} close={close} />;
}

const INPUTS = 'attributes.ag.data.inputs';
const OUTPUTS = 'attributes.ag.data.outputs';

function FromSpans({ spans, left, close }: { spans: readonly { trace: string; span: string }[]; left: number; close: () => void }) {
  const found = useApi<Columns>('POST', '/spans/query', { body: {
    filtering: { operator: 'and', conditions: [{ field: 'trace_id', operator: 'in', value: [...new Set(spans.map((s) => s.trace))] }, { field: 'span_id', operator: 'in', value: spans.map((s) => s.span) }] },
    select: ['trace_id', 'span_id', INPUTS, OUTPUTS], windowing: { limit: MOST },
  } }, { keep: false });
  const sources = useMemo<Source[]>(() => (found.data ? rowsOf(found.data) : []).map((r) => ({ trace: String(r['trace_id']), span: String(r['span_id']), inputs: r[INPUTS], outputs: r[OUTPUTS] })), [found.data]);
  const paths = useMemo(() => pathsOf(sources), [sources]);
  const [mapping, setMapping] = useState<Mapping[]>([]);
  useEffect(() => setMapping(propose(paths)), [paths]);
  const made = useMemo(() => testcases(sources, mapping), [sources, mapping]);
  const wrong = problem(mapping);
  return (
    <Target title={`Add ${showCount(spans.length)} ${spans.length === 1 ? 'span' : 'spans'} to a testset`} rows={made.rows} blocked={wrong ?? (made.rows.length ? undefined : 'There is no row to add.')} close={close}
      note={[made.duplicates > 0 && `${showCount(made.duplicates)} equal to another row and left out`, made.empty > 0 && `${showCount(made.empty)} without a value`, left > 0 && `${showCount(left)} beyond ${showCount(MOST)} left out`].filter(Boolean).join(' · ')}>
      {found.error ? <Failure compact error={found.error} retry={() => void found.refetch()} />
        : found.isPending ? <Skeleton rows={4} widths={[30, 60]} />
          : !paths.length ? <Empty title="These spans have neither inputs nor outputs." /> : (
            <table className={css['mapping']}>
              <thead><tr><th>of the span</th><th>column</th><th>the first of them</th></tr></thead>
              <tbody>{mapping.map((m, i) => (
                <tr key={m.path}>
                  <th><code>{m.path}</code></th>
                  <td><input aria-label={`Column of ${m.path}`} placeholder="left out" value={m.column} onChange={(e) => setMapping(mapping.map((o, j) => (i === j ? { ...o, column: e.target.value } : o)))} /></td>
                  <td className={css['sample']}>{sample(made.rows, m.column)}</td>
                </tr>
              ))}</tbody>
            </table>
          )}
    </Target>
  );
}

function sample(rows: readonly Testcase[], column: string): string {
  const value = rows.map((r) => r.data[column.trim()]).find((v) => v !== undefined);
  return value === undefined ? '–' : (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 160);
}

function Copy({ ids, close }: { ids: readonly string[]; close: () => void }) {
  const found = useApi<{ testcases?: { id: string; data?: Record<string, unknown> }[] }>('POST', '/testcases/query', { body: { testcase_ids: ids } }, { enabled: ids.length > 0, keep: false });
  const rows = useMemo<Testcase[]>(() => (found.data?.testcases ?? []).map((t) => ({ data: t.data ?? {}, meta: { source: t.id } })), [found.data]);
  return (
    <Target title={`New testset of ${showCount(ids.length)} ${ids.length === 1 ? 'case' : 'cases'}`} rows={rows} blocked={rows.length ? undefined : 'There is no row to add.'} close={close} note="">
      {found.error ? <Failure compact error={found.error} retry={() => void found.refetch()} /> : ids.length === 0 ? <Empty title="The marked cases come from no testset." /> : found.isPending ? <Skeleton rows={3} widths={[60]} /> : null}
    </Target>
  );
}

/** Target asks where the rows go, and commits them. */
function Target({ title, rows, blocked, note, close, children }: { title: string; rows: readonly Testcase[]; blocked: string | undefined; note: string; close: () => void; children: React.ReactNode }) {
  const found = useApi<{ testsets?: Testset[] }>('POST', '/simple/testsets/query', { body: { windowing: { limit: 200, order: 'descending' } } });
  const all = found.data?.testsets ?? [];
  const [target, setTarget] = useState('');
  const [name, setName] = useState('');
  const [busy, setBusy] = useState(false);
  const chosen = all.find((t) => t.id === target);
  const ready = !blocked && !busy && (chosen !== undefined || slugOf(name) !== '');
  const send = async () => {
    if (!ready) return;
    setBusy(true);
    try {
      if (chosen) {
        await client.call('POST', '/testsets/revisions/commit', { body: { testset_revision_commit: {
          testset_id: chosen.id, ...(chosen.variant_id && { testset_variant_id: chosen.variant_id }), message: `${rows.length} testcases added in the console`, delta: { rows: { add: rows } },
        }, include_testcases: false } });
      } else {
        await client.call('POST', '/simple/testsets/', { body: { testset: { slug: slugOf(name), name: name.trim(), data: { testcases: rows } } } });
      }
      toast(`${showCount(rows.length)} ${rows.length === 1 ? 'testcase' : 'testcases'} added to ${chosen ? (chosen.name ?? chosen.slug) : name.trim()}.`);
      close();
      await queries.invalidateQueries({ predicate: (q) => /testset|testcase/.test(String(q.queryKey[2])) });
    } catch (error) {
      // The form stays as it is, so that sending again is one press.
      toast(error instanceof Error ? error.message : String(error), { bad: true });
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} wide onClose={close} actions={<>
      <span className={css['note']} role="status">{blocked ?? note}</span>
      <Button onPress={close}>Cancel</Button>
      <Button look="accent" isDisabled={!ready} onPress={() => void send()}>Add {showCount(rows.length)}</Button>
    </>}>
      <div className={css['target']}>
        <label>Testset
          <select value={target} onChange={(e) => setTarget(e.target.value)}>
            <option value="">a new one</option>
            {all.map((t) => <option key={t.id} value={t.id}>{t.name ?? t.slug}{t.version && ` v${t.version}`}</option>)}
          </select>
        </label>
        {!chosen && <label>Name<input autoFocus value={name} placeholder="late refunds" onChange={(e) => setName(e.target.value)} onKeyDown={(e) => { if (e.key === 'Enter') { e.preventDefault(); void send(); } }} /></label>}
      </div>
      {found.error && <Failure compact error={found.error} retry={() => void found.refetch()} />}
      {children}
    </Dialog>
  );
}
