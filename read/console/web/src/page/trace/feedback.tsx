import { useEffect, useState } from 'react';
import type { Annotation } from '../../api/types';
import { Button } from '../../kit/button/button';
import { Link } from '../../kit/link/link';
import { Empty } from '../../kit/state/state';
import { toast } from '../../kit/toast/toast';
import { Ago, Score } from '../../kit/value/value';
import { client, may, queries, useApi } from '../../shell/session';
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
      {open && <Form traceId={traceId} spanId={spanId} close={() => setOpen(false)} />}
    </div>
  );
}

const PLAIN: Schema = { type: 'object', properties: { success: { type: 'boolean' }, comment: { type: 'string' } } };

function Form({ traceId, spanId, close }: { traceId: string; spanId: string; close: () => void }) {
  const found = useApi<Evaluators>('POST', '/simple/evaluators/query', { body: {} });
  const human = (found.data?.evaluators ?? []).filter((e) => e.flags?.['is_feedback'] || e.flags?.['is_human']);
  const [slug, setSlug] = useState<string>();
  const [values, setValues] = useState<Record<string, unknown>>({});
  const [busy, setBusy] = useState(false);
  const chosen = human.find((e) => e.slug === slug) ?? human[0];
  const schema = chosen?.data?.schemas?.outputs?.properties ? chosen.data.schemas.outputs : PLAIN;
  const fields = Object.entries(schema.properties ?? {});
  const set = (name: string, value: unknown) => setValues((v) => ({ ...v, [name]: value }));

  const send = async () => {
    setBusy(true);
    try {
      await client.call('POST', '/annotations/', { body: { annotation: {
        origin: 'human', channel: 'web', data: { outputs: values }, references: { evaluator: { slug: chosen?.slug ?? 'feedback' } },
        links: { invocation: { trace_id: traceId, span_id: spanId } },
      } } });
      toast('Annotated.');
      close();
      await queries.invalidateQueries({ predicate: (q) => String(q.queryKey[2]).startsWith('/annotations') || String(q.queryKey[2]).includes('/outline') });
    } catch (error) {
      // What was filled in stays: nobody types it twice.
      toast(error instanceof Error ? error.message : String(error), { bad: true });
      setBusy(false);
    }
  };
  return (
    <form className={css['form']} onSubmit={(e) => { e.preventDefault(); void send(); }} onKeyDown={(e) => { if (e.key === 'Enter' && (e.metaKey || e.ctrlKey)) { e.preventDefault(); void send(); } }}>
      {human.length > 1 && (
        <label>Evaluator<select value={chosen?.slug} onChange={(e) => { setSlug(e.target.value); setValues({}); }}>{human.map((e) => <option key={e.id} value={e.slug}>{e.name ?? e.slug}</option>)}</select></label>
      )}
      {fields.map(([name, field]) => <Field key={name} name={name} schema={field} value={values[name]} onChange={(v) => set(name, v)} />)}
      <div className={css['actions']}>
        <Button onPress={close} look="quiet">Cancel</Button>
        <Button type="submit" look="accent" isDisabled={busy || !Object.values(values).some((v) => v !== undefined && v !== '')}>Send <kbd>⌘⏎</kbd></Button>
      </div>
    </form>
  );
}

function Field({ name, schema, value, onChange }: { name: string; schema: Schema; value: unknown; onChange: (value: unknown) => void }) {
  const options: [unknown, string][] | undefined = schema.type === 'boolean' ? [[true, '✓ yes'], [false, '✗ no']]
    : schema.enum ? schema.enum.map((v) => [v, String(v)])
      : schema.type === 'integer' && schema.minimum !== undefined && schema.maximum !== undefined && schema.maximum - schema.minimum <= 10
        ? Array.from({ length: schema.maximum - schema.minimum + 1 }, (_, i) => [schema.minimum! + i, String(schema.minimum! + i)]) : undefined;
  if (options) {
    return (
      <fieldset className={css['field']}>
        <legend>{schema.title ?? name}</legend>
        {options.map(([v, text]) => <button key={text} type="button" aria-pressed={value === v} onClick={() => onChange(value === v ? undefined : v)}>{text}</button>)}
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
