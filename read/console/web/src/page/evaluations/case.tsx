import { MessageSquarePlus } from 'lucide-react';
import { useState } from 'react';
import type { Span } from '../../api/types';
import { Button, Choice } from '../../kit/button/button';
import { WordDiff } from '../../kit/diff/diff';
import { JsonView } from '../../kit/json/json';
import { Link } from '../../kit/link/link';
import { Failure, Skeleton } from '../../kit/state/state';
import { Cost, Duration, Score as ScoreValue } from '../../kit/value/value';
import { address, go } from '../../shell/place';
import { may, useApi } from '../../shell/session';
import { stepsOf, useResults, type Result, type Run } from './data';
import { applicationName, asNumber, evaluatorName, stageOf, type Case, type Sheet, type Step } from './sheet';
import css from './page.module.css';

interface Testcase { testcase?: { data?: Record<string, unknown> } }

/** CasePanel shows one case in full: what went in, what was expected and given, the verdicts of evaluators, and both traces. */
export function CasePanel({ run, sheet, one, n }: { run: Run; sheet: Sheet; one: Case; n: number }) {
  const results = useResults(run.id, one.scenario);
  const testcase = useApi<Testcase>('GET', `/testcases/${one.testcase}`, {}, { enabled: one.testcase !== '', staleTime: Number.POSITIVE_INFINITY, keep: false });
  const [repeat, setRepeat] = useState('0');
  const all = results.data?.results ?? [];
  const repeats = [...new Set(all.map((r) => r.repeat_idx))].toSorted((a, b) => a - b);
  const of = (step: Step): Result | undefined => all.find((r) => r.step_key === step.key && r.repeat_idx === Number(repeat)) ?? all.find((r) => r.step_key === step.key);
  const row = one.rows[Number(repeat)] ?? one.rows[0]!;
  const steps = stepsOf(run);
  const data = testcase.data?.testcase?.data;
  return (
    <div className={css['case']}>
      <header><h2>Case {n}</h2>
        {repeats.length > 1 && <Choice label="Repeat" value={repeat} onChange={setRepeat} options={repeats.map((r) => [String(r), `repeat ${r + 1}`] as const)} />}
      </header>
      <section><h3>inputs</h3>{data ? <JsonView value={data} compact label="Inputs" /> : testcase.isPending && one.testcase ? <Skeleton rows={2} widths={[60]} /> : <p className={css['text']}>{one.inputs || '–'}</p>}</section>
      {one.expected && <section><h3>expected</h3><p className={css['text']}>{one.expected}</p></section>}
      {results.error && <Failure compact error={results.error} retry={() => void results.refetch()} />}
      {results.isPending && <Skeleton rows={5} widths={[60]} />}
      {!results.isPending && steps.filter((s) => s.type === 'invocation').map((step) => {
        const app = sheet.applications.find((a) => a.key === step.key);
        const judges = steps.filter((s) => s.type === 'annotation' && (sheet.applications.length < 2 || s.inputs?.some((input) => input.key === step.key)));
        return (
          <section key={step.key} aria-label={applicationName(step)}>
            <Answer name={applicationName(step)} result={of(step)} preview={app?.output?.[row]} expected={one.expected} latency={asNumber(app?.latency?.[row])} cost={asNumber(app?.cost?.[row])} />
            {judges.map((judge) => <Verdict key={judge.key} step={judge} sheet={sheet} row={row} result={of(judge)} />)}
          </section>
        );
      })}
      {!sheet.applications.length && steps.filter((s) => s.type === 'annotation').map((judge) => <Verdict key={judge.key} step={judge} sheet={sheet} row={row} result={of(judge)} />)}
    </div>
  );
}

/** Answer shows the whole output of an application, from its trace, and how it differs from what was expected. */
export function Answer({ name, result, preview, expected, latency, cost }: { name: string; result: Result | undefined; preview: unknown; expected: string; latency: number | null; cost: number | null }) {
  const span = useApi<{ span?: Span }>('GET', `/spans/${result?.trace_id}/${result?.span_id}`, {}, { enabled: Boolean(result?.trace_id && result.span_id), staleTime: Number.POSITIVE_INFINITY, keep: false });
  const [diff, setDiff] = useState(false);
  const output = (span.data?.span?.attributes as { ag?: { data?: { outputs?: unknown } } } | undefined)?.ag?.data?.outputs ?? preview;
  const plain = typeof output === 'string' ? output : undefined;
  return (
    <>
      <header className={css['answer']}>
        <h3>{name}</h3>
        {result && stageOf(result.status) !== 'done' && <span className={css[stageOf(result.status) === 'failed' ? 'worse' : 'dim']}>{result.status}</span>}
        {latency !== null && <Duration ms={latency} />}{cost !== null && <Cost value={cost} />}
        {plain !== undefined && expected && <Button small look="quiet" pressed={diff} onPress={() => setDiff(!diff)}>Against expected</Button>}
        {result?.trace_id && <Link to={`/traces/${result.trace_id}`} state={result.span_id ? `span=${result.span_id}` : ''}>trace</Link>}
        {result?.trace_id && may('edit_spans') && <Button small look="quiet" icon={MessageSquarePlus} onPress={() => go(address(`/traces/${result.trace_id}`, `tab=feedback${result.span_id ? `&span=${result.span_id}` : ''}`))}>Annotate</Button>}
      </header>
      {result?.error?.message && <p className={css['worse']} role="note">{result.error.message}</p>}
      {plain !== undefined ? diff ? <WordDiff from={expected} to={plain} /> : <p className={css['text']}>{plain}</p>
        : output !== undefined && output !== null ? <JsonView value={output} compact label={`Output of ${name}`} /> : <p className={css['dim']}>no output</p>}
    </>
  );
}

function Verdict({ step, sheet, row, result }: { step: Step; sheet: Sheet; row: number; result: Result | undefined }) {
  const values = [...sheet.scores, ...sheet.notes].filter((s) => s.step === step.key && s.values[row] !== null && s.values[row] !== undefined);
  return (
    <div className={css['verdict']}>
      <h4>{evaluatorName(step)}
        {result && stageOf(result.status) !== 'done' && <span className={css[stageOf(result.status) === 'failed' ? 'worse' : 'dim']}> {step.origin === 'human' && stageOf(result.status) === 'pending' ? 'waits for a person' : result.status}</span>}
        {result?.trace_id && <Link to={`/traces/${result.trace_id}`} state={result.span_id ? `span=${result.span_id}` : ''}>trace</Link>}
      </h4>
      {result?.error?.message && <p className={css['worse']} role="note">{result.error.message}</p>}
      {values.length > 0 && <dl>{values.map((s) => <div key={s.id}><dt>{s.path}</dt><dd><ScoreValue value={s.values[row]} /></dd></div>)}</dl>}
    </div>
  );
}
