import { lazy, Suspense, useMemo } from 'react';
import type { Annotation, Span } from '../../api/types';
import { JsonView } from '../../kit/json/json';
import { Link } from '../../kit/link/link';
import { readConversation } from '../../kit/message/message';
import { MarkdownSwitch, Messages } from '../../kit/message/view';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { Tabs } from '../../kit/tabs/tabs';
import { Cost, Duration, Id, SpanType, Time, Tokens } from '../../kit/value/value';
import { useApi } from '../../shell/session';
import { condition, leaf } from '../../url/query';
import { address, go } from '../../shell/place';
import { nameOf, type Tree } from './tree';
import css from './span.module.css';

const Feedback = lazy(() => import('./feedback'));

type Json = Record<string, unknown>;

const at = (value: unknown, path: string): unknown => path.split('.').reduce<unknown>((v, key) => (typeof v === 'object' && v !== null ? (v as Json)[key] : undefined), value);

interface Reply { count: number; span?: Span }

/** SpanView shows one span: its messages, inputs and outputs, and its attributes. */
export function SpanView({ tree, row, tab, onTab, annotations, asked }: { tree: Tree; row: number; tab: string; onTab: (tab: string) => void; annotations: readonly Annotation[]; asked: number }) {
  const { outline } = tree;
  const i = tree.spans[row]!;
  const spanId = outline.columns.span_id[i]!;
  const found = useApi<Reply>('GET', `/spans/${outline.trace_id}/${spanId}`, {}, { staleTime: outline.running ? 5000 : Number.POSITIVE_INFINITY, keep: false });
  const span = found.data?.span;
  const ag = (span?.attributes as { ag?: Json } | undefined)?.ag;
  const data = ag?.['data'] as Json | undefined;
  const conversation = useMemo(() => readConversation(data), [data]);
  const own = annotations.filter((a) => Object.values(a.links ?? {}).some((l) => l.trace_id === outline.trace_id && (!l.span_id || l.span_id === spanId)));
  const model = outline.columns.model[i]! >= 0 ? outline.dictionaries.model[outline.columns.model[i]!] : undefined;
  const events = span?.events ?? [];
  const links = span?.links ?? [];

  const tabs = [
    ...(conversation ? [['conversation', 'Conversation'] as const] : []),
    ['data', 'In / Out'], ['attributes', 'Attributes'], ['events', `Events${events.length ? ` ${events.length}` : ''}`], ['links', `Links${links.length ? ` ${links.length}` : ''}`],
    ['feedback', `Feedback${own.length ? ` ${own.length}` : ''}`], ['cost', 'Cost'], ['raw', 'Raw'],
  ] as const;
  const active = tabs.some(([id]) => id === tab) ? tab : tabs[0][0];

  return (
    <section className={css['span']} aria-label={`Span ${nameOf(tree, row)}`}>
      <header className={css['head']}>
        <SpanType type={outline.dictionaries.type[outline.columns.type[i]!] ?? 'unknown'} />
        <h2>{nameOf(tree, row)}</h2>
        {model && <span className={css['model']}>{model}</span>}
        <span className={css['facts']}>
          <Duration ms={outline.columns.duration_ns[i]! / 1e6} />
          {outline.columns.tokens_prompt[i] !== null && <span title="prompt + completion"><Tokens value={outline.columns.tokens_prompt[i]} /> + <Tokens value={outline.columns.tokens_completion[i]} /> tok</span>}
          {outline.columns.total_cost[i] !== null && <Cost value={outline.columns.total_cost[i]} />}
          <Id id={spanId} what="Span id" length={16} />
        </span>
      </header>
      {outline.columns.status[i] === 2 && <p className={css['failed']} role="note">▲ {span?.status_message || 'error'}</p>}
      {found.error ? <Failure error={found.error} retry={() => void found.refetch()} /> : (
        <Tabs label="What of the span" tabs={tabs} active={active} onChange={onTab}>
            {!span ? (found.isPending ? <Skeleton rows={8} widths={[70]} /> : <Empty title="The payload of this span is not stored." />) : (
              <>
                {active === 'conversation' && conversation && (
                  <div className={css['pad']}>
                    <div className={css['switch']}><MarkdownSwitch /></div>
                    <Messages label="Conversation" messages={[...conversation.input, ...conversation.output]} />
                  </div>
                )}
                {active === 'data' && <Data data={data} exception={ag?.['exception']} unsupported={ag?.['unsupported']} />}
                {active === 'attributes' && <JsonView value={span.attributes} label="Attributes" onFilter={(path, value) => go(address('/traces', `focus=spans&q=${encodeURIComponent(leaf(condition('attributes', 'is', value as never, path.join('.'))))}`))} />}
                {active === 'events' && <Events events={events} />}
                {active === 'links' && <Links span={span} />}
                {active === 'feedback' && <Suspense fallback={<Skeleton rows={3} widths={[60]} />}><Feedback traceId={outline.trace_id} spanId={spanId} annotations={own} asked={asked} /></Suspense>}
                {active === 'cost' && <CostTable ag={ag} />}
                {active === 'raw' && <JsonView value={span} label="Span" />}
              </>
            )}
        </Tabs>
      )}
    </section>
  );
}

function Data({ data, exception, unsupported }: { data: Json | undefined; exception: unknown; unsupported: unknown }) {
  const parts = (['inputs', 'outputs', 'parameters', 'internals'] as const).filter((name) => data?.[name] !== undefined);
  if (!parts.length && exception === undefined) return <Empty title="This span has neither inputs nor outputs." />;
  return (
    <div className={css['pad']}>
      {unsupported !== undefined && <div className={css['note']} role="note"><b>Some of this span did not fit and was kept aside.</b><JsonView value={unsupported} compact /></div>}
      {exception !== undefined && <section><h3>exception</h3><JsonView value={exception} compact /></section>}
      {parts.map((name) => <section key={name}><h3>{name}</h3>{typeof data![name] === 'string' ? <p className={css['text']}>{data![name]}</p> : <JsonView value={data![name]} compact />}</section>)}
    </div>
  );
}

function Events({ events }: { events: readonly unknown[] }) {
  if (!events.length) return <Empty title="This span has no events." />;
  return (
    <div className={css['pad']}>
      {(events as { name?: string; timestamp?: string; time?: string; attributes?: Json }[]).map((e, i) => {
        const stack = e.attributes?.['exception.stacktrace'] ?? at(e.attributes, 'exception.stacktrace');
        return (
          <section key={i}>
            <h3>{e.name ?? 'event'} {(e.timestamp ?? e.time) && <Time at={(e.timestamp ?? e.time)!} />}</h3>
            {e.attributes && <JsonView value={e.attributes} compact />}
            {typeof stack === 'string' && <details><summary>Stack</summary><pre className={css['stack']}>{stack}</pre></details>}
          </section>
        );
      })}
    </div>
  );
}

function Links({ span }: { span: Span }) {
  const links = (span.links ?? []) as { trace_id: string; span_id: string; attributes?: Json }[];
  const references = (span.references ?? []) as { id?: string; slug?: string; version?: string; attributes?: { key?: string } }[];
  if (!links.length && !references.length && !span.session_id && !span.user_id) return <Empty title="This span leads nowhere else." />;
  return (
    <div className={css['pad']}>
      <table className={css['table']}>
        <tbody>
          {span.session_id && <tr><th>session</th><td><Link to={`/sessions/${encodeURIComponent(span.session_id)}`}>{span.session_id}</Link></td></tr>}
          {span.user_id && <tr><th>user</th><td><Link to={`/users/${encodeURIComponent(span.user_id)}`}>{span.user_id}</Link></td></tr>}
          {references.map((r, i) => <tr key={i}><th>{(r.attributes?.key ?? 'reference').replaceAll('_', ' ')}</th><td>{r.slug ?? r.id}{r.version && ` v${r.version}`}</td></tr>)}
          {links.map((l, i) => <tr key={`l${i}`}><th>{String(l.attributes?.['key'] ?? 'link')}</th><td><Link to={`/traces/${l.trace_id}`} state={`span=${l.span_id}`}><code>{l.trace_id}</code></Link></td></tr>)}
        </tbody>
      </table>
    </div>
  );
}

function CostTable({ ag }: { ag: Json | undefined }) {
  const metrics = ag?.['metrics'] as Json | undefined;
  const kinds = ['prompt', 'cached', 'cache_write', 'completion', 'total'];
  const n = (path: string) => { const v = at(metrics, path); return typeof v === 'number' ? v : null; };
  const rows = kinds.filter((k) => n(`tokens.incremental.${k}`) !== null || n(`tokens.cumulative.${k}`) !== null || n(`costs.incremental.${k}`) !== null || n(`costs.cumulative.${k}`) !== null);
  if (!rows.length) return <Empty title="No model call is known here, so there is no cost." />;
  return (
    <div className={css['pad']}>
      <table className={css['table']}>
        <thead><tr><th /><th>own tokens</th><th>own cost</th><th>with all below, tokens</th><th>cost</th></tr></thead>
        <tbody>
          {rows.map((k) => (
            <tr key={k}><th>{k.replaceAll('_', ' ')}</th><td><Tokens value={n(`tokens.incremental.${k}`)} /></td><td><Cost value={n(`costs.incremental.${k}`)} /></td><td><Tokens value={n(`tokens.cumulative.${k}`)} /></td><td><Cost value={n(`costs.cumulative.${k}`)} /></td></tr>
          ))}
        </tbody>
      </table>
      {at(ag, 'meta.cost') !== undefined && <section><h3>price</h3><JsonView value={at(ag, 'meta.cost')} compact /></section>}
    </div>
  );
}

