import { useEffect, useState } from 'react';
import type { Annotation } from '../../api/types';
import { Button } from '../../kit/button/button';
import { Link } from '../../kit/link/link';
import { Empty } from '../../kit/state/state';
import { toast } from '../../kit/toast/toast';
import { Ago, Score } from '../../kit/value/value';
import { isEditable } from '../../shell/keys';
import { client, may, queries, useApi } from '../../shell/session';
import { showCount } from '../../url/number';
import css from './feedback.module.css';

interface Schema { type?: string; enum?: unknown[]; minimum?: number; maximum?: number; title?: string; properties?: Record<string, Schema> }
interface Evaluator { id: string; slug: string; name?: string; flags?: Record<string, boolean>; data?: { schemas?: { outputs?: Schema } } }
interface Evaluators { evaluators?: Evaluator[] }

/** Feedback lists what people and evaluators said of a span, and takes more. */
export default function Feedback({ traceId, spanId, annotations, asked }: { traceId: string; spanId: string; annotations: readonly Annotation[]; asked: number }) {
  const [open, setOpen] = useState(false);
  const allowed = may('edit_spans');
  // The key to annotate opens the form from anywhere in the trace.
  useEffect(() => { if (asked > 0) setOpen(true); }, [asked]);
  return (
    <div className={css['feedback']}>
      {annotations.map((a) => (
        <article key={a.trace_id} className={css['one']}>
          <header><b>{a.references?.['evaluator']?.slug ?? 'annotation'}</b><span>{a.origin ?? 'custom'}</span><Ago at={a.created_at} /><Link to={`/traces/${a.trace_id}`}>trace</Link></header>
          <dl>{Object.entries(a.data?.outputs ?? {}).map(([name, value]) => <div key={name}><dt>{name}</dt><dd><Score value={value} /></dd></div>)}</dl>
        </article>
      ))}
      {!annotations.length && !open && <Empty title="Nobody has said anything of this span." actions={allowed ? <Button onPress={() => setOpen(true)}>Annotate</Button> : undefined} />}
      {annotations.length > 0 && !open && allowed && <Button onPress={() => setOpen(true)}>Annotate</Button>}
      {open && <FeedbackForm spans={[{ trace: traceId, span: spanId }]} close={() => setOpen(false)} />}
    </div>
  );
}

const PLAIN: Schema = { type: 'object', properties: { success: { type: 'boolean' }, comment: { type: 'string' } } };

/** Six requests at a time: a page that annotates many traces leaves room for others. */
const AT_ONCE = 6;

/** FeedbackForm takes what a person says of one or more spans, in the fields that an evaluator's schema has. */
export function FeedbackForm({ spans, close }: { spans: readonly { trace: string; span: string }[]; close: () => void }) {
  const found = useApi<Evaluators>('POST', '/simple/evaluators/query', { body: {} });
  const human = (found.data?.evaluators ?? []).filter((e) => e.flags?.['is_feedback'] || e.flags?.['is_human']);
  const [slug, setSlug] = useState<string>();
  const [values, setValues] = useState<Record<string, unknown>>({});
  const [done, setDone] = useState<number>();
  const [left, setLeft] = useState(spans);
  const chosen = human.find((e) => e.slug === slug) ?? human[0];
  const schema = chosen?.data?.schemas?.outputs?.properties ? chosen.data.schemas.outputs : PLAIN;
  const fields = Object.entries(schema.properties ?? {});
  const set = (name: string, value: unknown) => setValues((v) => ({ ...v, [name]: value }));
  const empty = !Object.values(values).some((v) => v !== undefined && v !== '');

  const send = async () => {
    if (empty || done !== undefined) return;
    setDone(0);
    const waiting = [...left];
    const failed: { trace: string; span: string }[] = [];
    let reason = '';
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
        try {
          await client.call('POST', '/annotations/', { body: { annotation: {
            origin: 'human', channel: 'web', data: { outputs: values }, references: { evaluator: { slug: chosen?.slug ?? 'feedback' } },
            links: { invocation: { trace_id: one.trace, span_id: one.span } },
          } } });
        } catch (error) {
          failed.push(one);
          reason = error instanceof Error ? error.message : String(error);
        }
        setDone((n) => (n ?? 0) + 1);
      }
    }));
    await queries.invalidateQueries({ predicate: (q) => String(q.queryKey[2]).startsWith('/annotations') || String(q.queryKey[2]).includes('/outline') });
    if (!failed.length) {
      toast(spans.length === 1 ? 'Annotated.' : `${showCount(spans.length)} annotated.`);
      close();
      return;
    }
    // What was filled in stays, and is sent again for those that failed only.
    setLeft(failed);
    setDone(undefined);
    toast(left.length === 1 ? reason : `${showCount(failed.length)} of ${showCount(left.length)} were not annotated: ${reason}`, { bad: true });
  };
  return (
    <form className={css['form']} aria-label="Annotation" onSubmit={(e) => { e.preventDefault(); void send(); }} onKeyDown={(e) => {
      if (e.key === 'Enter' && (e.metaKey || e.ctrlKey)) { e.preventDefault(); void send(); return; }
      // Digits choose among the options of the first field that has them; typing in a field is typing.
      if (!/^[1-9]$/.test(e.key) || isEditable(e.target)) return;
      const first = fields.map(([name, field]) => [name, optionsOf(field)] as const).find(([name, options]) => options && values[name] === undefined) ?? fields.map(([name, field]) => [name, optionsOf(field)] as const).find(([, options]) => options);
      const option = first?.[1]?.[Number(e.key) - 1];
      if (!first || !option) return;
      e.preventDefault();
      e.stopPropagation();
      set(first[0], option[0]);
    }}>
      {human.length > 1 && (
        <label>Evaluator<select value={chosen?.slug} onChange={(e) => { setSlug(e.target.value); setValues({}); }}>{human.map((e) => <option key={e.id} value={e.slug}>{e.name ?? e.slug}</option>)}</select></label>
      )}
      {fields.map(([name, field], i) => <Field key={name} name={name} schema={field} value={values[name]} onChange={(v) => set(name, v)} first={i === 0} />)}
      <div className={css['actions']}>
        {done !== undefined && left.length > 1 && <span role="status">{showCount(done)} of {showCount(left.length)}</span>}
        <Button onPress={close} look="quiet">Cancel</Button>
        <Button type="submit" look="accent" isDisabled={done !== undefined || empty}>{left.length < spans.length ? `Again ${left.length}` : 'Send'} <kbd>⌘⏎</kbd></Button>
      </div>
    </form>
  );
}

/** optionsOf lists the values of a field that has few. */
function optionsOf(schema: Schema): [unknown, string][] | undefined {
  if (schema.type === 'boolean') return [[true, '✓ yes'], [false, '✗ no']];
  if (schema.enum) return schema.enum.map((v) => [v, String(v)]);
  if (schema.type !== 'integer' || schema.minimum === undefined || schema.maximum === undefined || schema.maximum - schema.minimum > 10) return undefined;
  const { minimum: low, maximum: high } = schema;
  return Array.from({ length: high - low + 1 }, (_, i) => [low + i, low === 1 && high === 5 ? '★'.repeat(i + 1) : String(low + i)]);
}

function Field({ name, schema, value, onChange, first }: { name: string; schema: Schema; value: unknown; onChange: (value: unknown) => void; first: boolean }) {
  const options = optionsOf(schema);
  if (options) {
    return (
      <fieldset className={css['field']}>
        <legend>{schema.title ?? name}</legend>
        {options.map(([v, text], i) => <button key={text} type="button" autoFocus={first && i === 0} aria-pressed={value === v} aria-label={text.startsWith('★') ? `${String(v)} of 5` : undefined} onClick={() => onChange(value === v ? undefined : v)}>{text}</button>)}
      </fieldset>
    );
  }
  const number = schema.type === 'number' || schema.type === 'integer';
  return (
    <label>{schema.title ?? name}
      {number ? <input type="number" step={schema.type === 'integer' ? 1 : 'any'} min={schema.minimum} max={schema.maximum} value={typeof value === 'number' ? value : ''} onChange={(e) => onChange(e.target.value === '' ? undefined : Number(e.target.value))} />
        : <textarea rows={2} value={typeof value === 'string' ? value : ''} onChange={(e) => onChange(e.target.value || undefined)} />}
    </label>
  );
}
