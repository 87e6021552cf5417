import { useQueries } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { Outline, Span } from '../../api/types';
import { Button } from '../../kit/button/button';
import { Link } from '../../kit/link/link';
import { readConversation, sameStart, type Message } from '../../kit/message/message';
import { MarkdownSwitch, Messages } from '../../kit/message/view';
import { Empty, Failure, Skeleton } from '../../kit/state/state';
import { SpanType } from '../../kit/value/value';
import { client, projectId, useApi } from '../../shell/session';
import { showCost, showCount, showDuration, showTokens } from '../../url/number';
import { align, buildTree, type Tree } from './tree';
import css from './page.module.css';

const CALLS = 30;

/** Conversation is the run as the user saw it: messages of its model calls in order of time, a history that is sent again shown once. */
export function Conversation({ tree }: { tree: Tree }) {
  const { outline } = tree;
  const { type, span_id } = outline.columns;
  const calls = useMemo(() => Array.from(span_id.keys()).filter((i) => ['chat', 'llm', 'completion'].includes(outline.dictionaries.type[type[i]!] ?? '')), [outline, type, span_id]);
  const [count, setCount] = useState(CALLS);
  const wanted = calls.length ? calls.slice(0, count) : [tree.spans[0]!];
  const found = useQueries({
    queries: wanted.map((i) => ({
      queryKey: [projectId(), 'GET', `/spans/${outline.trace_id}/${span_id[i]}`, null, null],
      queryFn: ({ signal }: { signal: AbortSignal }) => client.call<{ span?: Span }>('GET', `/spans/${outline.trace_id}/${span_id[i]}`, { signal }),
      staleTime: Number.POSITIVE_INFINITY,
    })),
  });
  if (found.some((f) => f.isPending)) return <Skeleton rows={10} widths={[80]} />;
  const failed = found.find((f) => f.error);
  if (failed?.error) return <Failure error={failed.error} retry={() => { for (const f of found) void f.refetch(); }} />;
  let before: Message[] = [];
  const parts = wanted.map((i, k) => {
    const conversation = readConversation((found[k]!.data?.span?.attributes as { ag?: { data?: unknown } } | undefined)?.ag?.data);
    if (!conversation) return null;
    const same = sameStart(before, conversation.input);
    before = [...conversation.input, ...conversation.output];
    return { i, same, messages: [...conversation.input.slice(same), ...conversation.output] };
  }).filter((p) => p !== null);
  if (!parts.length) return <Empty title="There are no messages in this trace.">Inputs and outputs stand with each span, as JSON.</Empty>;
  return (
    <div className={css['conversation']}>
      <div className={css['switch']}><MarkdownSwitch /></div>
      {parts.map(({ i, same, messages }) => (
        <div key={i}>
          <p className={css['call']}>
            <SpanType type={outline.dictionaries.type[type[i]!] ?? 'unknown'} /> {outline.dictionaries.name[outline.columns.name[i]!]}
            {outline.columns.model[i]! >= 0 && <span>{outline.dictionaries.model[outline.columns.model[i]!]}</span>}
            <span>{showDuration(outline.columns.duration_ns[i]! / 1e6)}</span>
            {same > 0 && <span>{same} earlier {same === 1 ? 'message' : 'messages'}</span>}
          </p>
          <Messages label="Messages" messages={messages} />
        </div>
      ))}
      {calls.length > count && <Button onPress={() => setCount(count + CALLS)}>{showCount(calls.length - count)} more calls</Button>}
    </div>
  );
}

/** CostView sums up what model calls cost, by model, span and type. */
export function CostView({ tree }: { tree: Tree }) {
  const { columns, dictionaries } = tree.outline;
  const sums = (key: (i: number) => string | undefined) => {
    const all = new Map<string, { calls: number; prompt: number; completion: number; cost: number }>();
    for (let i = 0; i < columns.span_id.length; i++) {
      const name = key(i);
      if (name === undefined || (columns.cost[i] === null && columns.tokens_prompt[i] === null)) continue;
      const sum = all.get(name) ?? { calls: 0, prompt: 0, completion: 0, cost: 0 };
      sum.calls++;
      sum.prompt += columns.tokens_prompt[i] ?? 0;
      sum.completion += columns.tokens_completion[i] ?? 0;
      sum.cost += columns.cost[i] ?? 0;
      all.set(name, sum);
    }
    return [...all].toSorted((a, b) => b[1].cost - a[1].cost);
  };
  const groups = [['By model', sums((i) => (columns.model[i]! >= 0 ? dictionaries.model[columns.model[i]!] : undefined))], ['By span', sums((i) => dictionaries.name[columns.name[i]!])], ['By type', sums((i) => dictionaries.type[columns.type[i]!])]] as const;
  if (!groups[2][1].length) return <Empty title="No model call is known in this trace, so there is no cost." />;
  return (
    <div className={css['cost']}>
      {groups.map(([title, list]) => {
        const most = Math.max(...list.map(([, s]) => s.cost), 1e-30);
        return (
          <section key={title}>
            <h2>{title}</h2>
            <table>
              <thead><tr><th /><th>calls</th><th>prompt</th><th>completion</th><th>cost</th><th aria-label="share" /></tr></thead>
              <tbody>{list.map(([name, s]) => (
                <tr key={name}><th>{name}</th><td>{showCount(s.calls)}</td><td>{showTokens(s.prompt)}</td><td>{showTokens(s.completion)}</td><td>{showCost(s.cost)}</td>
                  <td className={css['bar']}><span ref={(e) => { if (e) e.style.width = `${(s.cost / most) * 100}%`; }} /></td></tr>
              ))}</tbody>
            </table>
          </section>
        );
      })}
    </div>
  );
}

/** Diff lays two traces over each other by the names of their spans. */
export function Diff({ tree, other }: { tree: Tree; other: string }) {
  const found = useApi<Outline>('GET', `/traces/${other}/outline`, {}, { keep: false });
  const right = useMemo(() => (found.data ? buildTree(found.data) : undefined), [found.data]);
  const rows = useMemo(() => (right ? align(tree, right) : []), [tree, right]);
  if (found.error) return <Failure error={found.error} retry={() => void found.refetch()} />;
  if (!right) return <Skeleton />;
  const ms = (t: Tree, row: number) => (row < 0 ? null : t.outline.columns.duration_ns[t.spans[row]!]! / 1e6);
  const cost = (t: Tree, row: number) => (row < 0 ? null : (t.outline.columns.total_cost[t.spans[row]!] ?? null));
  return (
    <div className={css['diff']}>
      <table>
        <thead><tr><th>Span</th><th>this</th><th><Link to={`/traces/${other}`}>other</Link></th><th>difference</th><th>cost</th><th>other</th></tr></thead>
        <tbody>
          {rows.slice(0, 2000).map((r) => {
            const a = ms(tree, r.a);
            const b = ms(right, r.b);
            const change = a !== null && b !== null ? b - a : null;
            return (
              <tr key={r.path} data-look={r.a < 0 ? 'added' : r.b < 0 ? 'removed' : change !== null && a && Math.abs(change) > a * 0.2 ? (change > 0 ? 'slower' : 'faster') : undefined}>
                <th ref={(e) => { if (e) e.style.paddingLeft = `${12 + Math.min(r.depth, 20) * 14}px`; }}>{r.a < 0 ? '+ ' : r.b < 0 ? '− ' : ''}{r.name}</th>
                <td>{showDuration(a)}</td><td>{showDuration(b)}</td><td>{change === null ? '' : `${change > 0 ? '+' : ''}${showDuration(change)}`}</td><td>{showCost(cost(tree, r.a))}</td><td>{showCost(cost(right, r.b))}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
