import { useMemo, useState } from 'react';
import type { Analytics } from '../../api/types';
import { Button, Choice } from '../../kit/button/button';
import { Link } from '../../kit/link/link';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { toast } from '../../kit/toast/toast';
import { useClock } from '../../shell/clock';
import { address, go } from '../../shell/place';
import { client, may, queries, useApi } from '../../shell/session';
import { useTitle } from '../../shell/shell';
import { showCost, showCount, showDuration } from '../../url/number';
import { list, text, whole } from '../../url/state';
import { now, printIso } from '../../url/time';
import { useUrlState } from '../../url/use';
import type { Schema } from './sheet';
import css from './new.module.css';

interface Testset { id: string; slug: string; name?: string; revision_id?: string; version?: string; data?: { testcase_ids?: string[]; testcases?: { data?: Record<string, unknown> }[] } }
interface Entity { id: string; slug: string; name?: string; revision_id?: string; version?: string; flags?: Record<string, boolean>; data?: { schemas?: { inputs?: Schema & { required?: string[] }; outputs?: Schema }; parameters?: Record<string, unknown> } }
interface Revision { id: string; version?: string; message?: string }

const schema = { source: text(), apps: list([]), judges: list([]), repeats: whole(1, 1, 100), batch: whole(4, 1, 64), name: text() };
const LATEST = { windowing: { limit: 200, order: 'descending' } };

/** New puts an evaluation together: a testset, the applications that answer it, and the evaluators that score the answers. */
export default function New() {
  useTitle('New', 'Evaluations');
  const [state, set] = useUrlState(schema);
  const testsets = useApi<{ testsets?: Testset[] }>('POST', '/simple/testsets/query', { body: LATEST });
  const saved = useApi<{ queries?: { id: string; name?: string; slug?: string; revision_id?: string }[] }>('POST', '/simple/queries/query', { body: {} });
  const apps = useApi<{ applications?: Entity[] }>('POST', '/simple/applications/query', { body: LATEST });
  const judges = useApi<{ evaluators?: Entity[] }>('POST', '/simple/evaluators/query', { body: LATEST });
  const [busy, setBusy] = useState(false);
  const query = state.source.startsWith('q:');
  const testset = (testsets.data?.testsets ?? []).find((t) => t.revision_id === state.source || t.id === state.source.split('@')[0]);
  const revision = state.source.includes('@') ? state.source.split('@')[1]! : testset?.revision_id;
  const rows = useApi<{ testcases?: { data?: Record<string, unknown> }[]; count?: number }>('POST', '/testcases/query', { body: { testset_revision_id: revision, windowing: { limit: 50 } } }, { enabled: Boolean(revision) && !query });
  const columns = useMemo(() => [...new Set((rows.data?.testcases ?? []).flatMap((t) => Object.keys(t.data ?? {})))], [rows.data]);
  const count = revision === testset?.revision_id ? (testset?.data?.testcase_ids?.length ?? testset?.data?.testcases?.length) : undefined;
  const chosenApps = state.apps.map((ref) => ({ ref, entity: (apps.data?.applications ?? []).find((a) => a.id === ref.split('@')[0]) }));
  const chosenJudges = state.judges.map((ref) => ({ ref, entity: (judges.data?.evaluators ?? []).find((e) => e.id === ref.split('@')[0]), origin: ref.split('@')[1] ?? 'auto' }));
  const problems = [...missing(chosenApps.map((a) => a.entity), columns), ...missingAnswers(chosenJudges.map((j) => j.entity), columns)];
  const complete = Boolean(query || revision) && state.judges.length > 0 && (query || state.apps.length > 0);
  const revisionOf = (ref: string, entity: Entity | undefined) => ref.split('@')[1] ?? entity?.revision_id ?? '';

  const start = async () => {
    setBusy(true);
    try {
      const steps = query ? { query_steps: [state.source.slice(2)] } : { testset_steps: [revision] };
      const made = await client.call<{ evaluation?: { id: string } }>('POST', '/simple/evaluations/', { body: { evaluation: {
        name: state.name || proposed(testset, chosenApps.map((a) => a.entity)),
        data: {
          ...steps, ...(state.apps.length && { application_steps: chosenApps.map((a) => revisionOf(a.ref, a.entity)) }),
          evaluator_steps: Object.fromEntries(chosenJudges.map((j) => [j.entity?.revision_id ?? '', j.origin])), repeats: state.repeats, concurrency: { batch_size: state.batch },
        },
      } } });
      await queries.invalidateQueries({ predicate: (q) => String(q.queryKey[2]).includes('/evaluations') });
      if (made.evaluation) go(address(`/evaluations/${made.evaluation.id}`));
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), { bad: true });
      setBusy(false);
    }
  };

  if (!may('edit_evaluations')) return <Empty title="Your role does not allow new evaluations." actions={<Link to="/evaluations">Evaluations</Link>}><h1 className="sr">New evaluation</h1></Empty>;
  const sets = testsets.data?.testsets ?? [];
  return (
    <div className={css['page']}>
      <header><p className={css['crumb']}><Link to="/evaluations">Evaluations</Link></p><h1>New evaluation</h1></header>
      <section aria-labelledby="new-source">
        <h2 id="new-source">1 · Cases</h2>
        {testsets.error ? <Failure compact error={testsets.error} retry={() => void testsets.refetch()} /> : testsets.isPending ? <Skeleton rows={1} widths={[40]} /> : sets.length + (saved.data?.queries?.length ?? 0) === 0
          ? <p className={css['none']}>There is no testset yet. Select traces in <Link to="/traces">Traces</Link> and add them to one.</p> : (
            <div className={css['line']}>
              <label>Testset or saved query
                <select value={query ? state.source : (testset?.id ?? '')} onChange={(e) => set({ source: e.target.value })}>
                  <option value="">choose</option>
                  <optgroup label="Testsets">{sets.map((t) => <option key={t.id} value={t.id}>{t.name ?? t.slug}</option>)}</optgroup>
                  {(saved.data?.queries ?? []).some((q) => q.revision_id) && <optgroup label="Traces of a saved query">{saved.data!.queries!.filter((q) => q.revision_id).map((q) => <option key={q.id} value={`q:${q.revision_id}`}>{q.name ?? q.slug}</option>)}</optgroup>}
                </select>
              </label>
              {testset && <Version kind="testset" id={testset.id} latest={testset.revision_id} value={revision} onChange={(v) => set({ source: v === testset.revision_id ? testset.id : `${testset.id}@${v}` })} />}
              {testset && <p className={css['facts']}>{count !== undefined && `${showCount(count)} cases · `}{columns.length ? `columns ${columns.join(', ')}` : rows.isPending ? '' : 'no columns'}</p>}
            </div>
          )}
      </section>
      <section aria-labelledby="new-apps">
        <h2 id="new-apps">2 · Applications{query && <small> none: the traces are there already</small>}</h2>
        {apps.error ? <Failure compact error={apps.error} retry={() => void apps.refetch()} /> : apps.isPending ? <Skeleton rows={2} widths={[40]} /> : !(apps.data?.applications ?? []).length ? <p className={css['none']}>There is no application yet. POST /simple/applications/ makes one.</p> : (
          <ul className={css['choose']}>
            {apps.data!.applications!.map((a) => {
              const at = chosenApps.findIndex((c) => c.entity?.id === a.id);
              const ref = chosenApps[at]?.ref;
              return (
                <li key={a.id} data-on={at >= 0 || undefined}>
                  <label><input type="checkbox" checked={at >= 0} onChange={() => set({ apps: at >= 0 ? state.apps.filter((r) => r !== ref) : [...state.apps, a.id] })} /> {a.name ?? a.slug}</label>
                  {ref !== undefined && <Version kind="application" id={a.id} latest={a.revision_id} value={revisionOf(ref, a)} onChange={(v) => set({ apps: state.apps.map((r) => (r === ref ? (v === a.revision_id ? a.id : `${a.id}@${v}`) : r)) })} />}
                </li>
              );
            })}
          </ul>
        )}
      </section>
      <section aria-labelledby="new-judges">
        <h2 id="new-judges">3 · Evaluators</h2>
        {judges.error ? <Failure compact error={judges.error} retry={() => void judges.refetch()} /> : judges.isPending ? <Skeleton rows={2} widths={[40]} /> : !(judges.data?.evaluators ?? []).length ? <p className={css['none']}>There is no evaluator yet. POST /simple/evaluators/ makes one.</p> : (
          <ul className={css['choose']}>
            {judges.data!.evaluators!.map((e) => {
              const chosen = chosenJudges.find((c) => c.entity?.id === e.id);
              const human = e.flags?.['is_feedback'];
              return (
                <li key={e.id} data-on={chosen ? true : undefined}>
                  <label><input type="checkbox" checked={chosen !== undefined} onChange={() => set({ judges: chosen ? state.judges.filter((r) => r !== chosen.ref) : [...state.judges, human ? `${e.id}@human` : e.id] })} /> {e.name ?? e.slug}</label>
                  {chosen && <Choice label={`Who scores with ${e.slug}`} value={chosen.origin} onChange={(origin) => set({ judges: state.judges.map((r) => (r === chosen.ref ? (origin === 'auto' ? e.id : `${e.id}@${origin}`) : r)) })} options={human ? [['human', 'people']] : [['auto', 'the service'], ['human', 'people']]} />}
                </li>
              );
            })}
          </ul>
        )}
      </section>
      <section aria-labelledby="new-how">
        <h2 id="new-how">4 · How</h2>
        <div className={css['line']}>
          <label>Name<input value={state.name} placeholder={proposed(testset, chosenApps.map((a) => a.entity))} onChange={(e) => set({ name: e.target.value }, 'replace')} /></label>
          <label>Repeats<input type="number" min={1} max={100} value={state.repeats} onChange={(e) => set({ repeats: Math.min(100, Math.max(1, Number(e.target.value) || 1)) }, 'replace')} /></label>
          <label>Cases at a time<input type="number" min={1} max={64} value={state.batch} onChange={(e) => set({ batch: Math.min(64, Math.max(1, Number(e.target.value) || 1)) }, 'replace')} /></label>
        </div>
      </section>
      {problems.length > 0 && <div className={css['problems']} role="alert">{problems.map((p) => <p key={p}>{p}</p>)}</div>}
      <footer>
        <Estimate rows={count} apps={chosenApps.map((a) => revisionOf(a.ref, a.entity)).filter(Boolean)} repeats={state.repeats} judges={chosenJudges.filter((j) => j.origin === 'auto').length} />
        <Button look="accent" isDisabled={!complete || busy} onPress={() => void start()}>Start</Button>
      </footer>
    </div>
  );
}

function proposed(testset: Testset | undefined, apps: readonly (Entity | undefined)[]): string {
  const names = apps.filter((a) => a !== undefined).map((a) => a.name ?? a.slug);
  return [testset && (testset.name ?? testset.slug), names.join(', ')].filter(Boolean).join(' × ') || 'evaluation';
}

/** missing lists the inputs that an application requires and the testset does not have. */
export function missing(apps: readonly (Entity | undefined)[], columns: readonly string[]): string[] {
  if (!columns.length) return [];
  return apps.flatMap((app) => {
    const wanted = new Set([...(app?.data?.schemas?.inputs?.required ?? []), ...holes(app?.data?.parameters)]);
    return [...wanted].filter((name) => !columns.includes(name.split('.')[0]!)).map((name) => `${app!.name ?? app!.slug} wants the input ${name}, and the testset has no such column.`);
  });
}

/** missingAnswers lists the columns that evaluators compare with and the testset does not have. */
export function missingAnswers(judges: readonly (Entity | undefined)[], columns: readonly string[]): string[] {
  if (!columns.length) return [];
  return judges.flatMap((judge) => {
    const key = judge?.data?.parameters?.['correct_answer_key'];
    if (typeof key !== 'string' || !key || columns.includes(key.replace(/^testcase\./, ''))) return [];
    return [`${judge!.name ?? judge!.slug} compares with the column ${key}, and the testset has no such column.`];
  });
}

/** holes finds the names between double braces in the messages of a prompt. */
function holes(parameters: unknown): string[] {
  const found = new Set<string>();
  for (const match of JSON.stringify((parameters as { prompt?: unknown } | undefined)?.prompt ?? null).matchAll(/\{\{\s*([A-Za-z_][\w.]*)\s*\}\}/g)) found.add(match[1]!.replace(/^inputs\./, ''));
  return [...found];
}

function Version({ kind, id, latest, value, onChange }: { kind: 'testset' | 'application'; id: string; latest: string | undefined; value: string | undefined; onChange: (revision: string) => void }) {
  const found = useApi<Record<string, Revision[]>>('POST', `/${kind}s/revisions/log`, { body: { [kind]: { [`${kind}_id`]: id }, ...(kind === 'testset' && { include_testcases: false }) } });
  const all = (found.data?.[`${kind}_revisions`] ?? []).filter((r) => r.version !== '0');
  if (all.length < 2) return null;
  return <label className={css['version']}>Version<select value={value ?? latest} onChange={(e) => onChange(e.target.value)}>{all.map((r) => <option key={r.id} value={r.id}>v{r.version}{r.message && ` ${r.message.slice(0, 40)}`}</option>)}</select></label>;
}

const COST = 'attributes.ag.metrics.costs.cumulative.total';
const DURATION = 'attributes.ag.metrics.duration.cumulative';

/** Estimate counts the calls, and says from the traces of these revisions what they will cost. */
function Estimate({ rows, apps, repeats, judges }: { rows: number | undefined; apps: readonly string[]; repeats: number; judges: number }) {
  const clock = useClock();
  // Whole days, so that the request stays the same while the page is open.
  const newest = now() / 3_600_000_000_000n * 3_600_000_000_000n;
  const found = useApi<Analytics>('POST', '/spans/analytics/query', { body: {
    focus: 'trace', filtering: { operator: 'and', conditions: [{ field: 'attributes', key: 'ag.references.application_revision.id', operator: 'in', value: apps }] },
    windowing: { oldest: printIso(newest - 30n * 86_400_000_000_000n), newest: printIso(newest) }, stats: ['count', 'sum'], specs: [COST, DURATION].map((path) => ({ type: 'numeric/continuous', path })),
  } }, { enabled: apps.length > 0 });
  void clock;
  if (rows === undefined || !apps.length) return <p className={css['facts']} />;
  const calls = rows * apps.length * repeats;
  const sum = (path: string, stat: 'count' | 'sum') => (found.data?.buckets ?? []).reduce((n, b) => n + (b.metrics[path]?.[stat] ?? 0), 0);
  const known = sum(COST, 'count');
  return (
    <p className={css['facts']} role="status">
      {showCount(calls)} calls, {showCount(calls * judges)} scores
      {known > 0 && ` · about ${showCost((sum(COST, 'sum') / known) * calls)}`}
      {sum(DURATION, 'count') > 0 && ` · ${showDuration(sum(DURATION, 'sum') / sum(DURATION, 'count'))} each`}
    </p>
  );
}
