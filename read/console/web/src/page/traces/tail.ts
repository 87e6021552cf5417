// The live tail: spans as they become visible, ten updates a second at most.

import { useEffect, useRef, useState } from 'react';
import { ApiError } from '../../api/errors';
import { events } from '../../api/stream';
import { wait } from '../../api/client';
import type { Span } from '../../api/types';
import { client, projectId } from '../../shell/session';
import type { Group } from '../../url/query';
import { parseIso } from '../../url/time';
import type { Row } from './data';

const MOST = 5000;
const EVERY = 100;

export interface Tail { rows: readonly Row[]; state: 'off' | 'opening' | 'live' | 'waiting' | 'ended'; note: string; dropped: number; waiting: number }

const OFF: Tail = { rows: [], state: 'off', note: '', dropped: 0, waiting: 0 };

/** rowOfSpan is a whole span in the form of a list's row. */
export function rowOfSpan(span: Span): Row {
  const ag = (span.attributes as { ag?: Record<string, unknown> } | undefined)?.ag ?? {};
  const read = (path: string): unknown => path.split('.').reduce<unknown>((v, k) => (typeof v === 'object' && v !== null ? (v as Record<string, unknown>)[k] : undefined), ag);
  const from = parseIso(span.start_time);
  const to = parseIso(span.end_time);
  const preview = (v: unknown) => (v === undefined ? null : (typeof v === 'string' ? v : JSON.stringify(v)).slice(0, 200));
  return {
    ...span, duration_ms: from !== undefined && to !== undefined ? Number(to - from) / 1e6 : null,
    'total.tokens': read('metrics.tokens.cumulative.total') ?? null, 'total.cost': read('metrics.costs.cumulative.total') ?? null, 'total.errors': read('metrics.errors.cumulative') ?? null,
    'preview.inputs': preview(read('data.inputs')), 'preview.outputs': preview(read('data.outputs')), model: read('meta.response.model') ?? null,
  };
}

/** useTail follows spans while it is on. Paused, it counts what waits. */
export function useTail(on: boolean, filtering: Group | undefined, paused: boolean, roots: boolean): Tail {
  const [tail, setTail] = useState<Tail>(OFF);
  const hold = useRef(paused);
  hold.current = paused;
  const key = JSON.stringify(filtering ?? null) + projectId() + String(roots);
  useEffect(() => {
    if (!on) {
      setTail(OFF);
      return;
    }
    const stop = new AbortController();
    let buffer: Row[] = [];
    let dropped = 0;
    let changed = false;
    const timer = setInterval(() => {
      if (!changed) return;
      changed = false;
      if (hold.current) {
        setTail((t) => ({ ...t, waiting: buffer.length, dropped: t.dropped + dropped }));
        dropped = 0;
        return;
      }
      const next = buffer.toReversed();
      const lost = dropped;
      buffer = [];
      dropped = 0;
      setTail((t) => ({ ...t, rows: [...next, ...t.rows].slice(0, MOST), dropped: t.dropped + lost, waiting: 0 }));
    }, EVERY);
    const follow = async () => {
      for (let attempt = 0; !stop.signal.aborted; attempt++) {
        setTail((t) => ({ ...t, state: attempt ? 'waiting' : 'opening' }));
        let reason = 'interrupted';
        try {
          const response = await client.open('GET', '/spans/tail', { accept: 'text/event-stream', signal: stop.signal, query: filtering ? { filtering: JSON.stringify(filtering) } : {} });
          for await (const { event, data } of events(response.body!, stop.signal)) {
            if (event === 'ready') {
              attempt = 0;
              setTail((t) => ({ ...t, state: 'live', note: '' }));
            } else if (event === 'span') {
              const span = JSON.parse(data) as Span;
              if (!roots || !span.parent_id) {
                buffer.push(rowOfSpan(span));
                if (buffer.length > MOST) {
                  buffer.shift();
                  dropped++;
                }
                changed = true;
              }
            } else if (event === 'dropped' || event === 'missed') {
              dropped += (JSON.parse(data) as { count?: number }).count ?? 0;
              changed = true;
            } else if (event === 'end') reason = (JSON.parse(data) as { reason?: string }).reason ?? '';
          }
        } catch (error) {
          if (stop.signal.aborted) return;
          if (error instanceof ApiError && error.failure !== 'offline' && error.failure !== 'unavailable') {
            setTail((t) => ({ ...t, state: 'ended', note: error.message }));
            return;
          }
        }
        if (stop.signal.aborted) return;
        if (reason !== 'stopping' && reason !== 'interrupted') {
          setTail((t) => ({ ...t, state: 'ended', note: `The service ended it: ${reason}` }));
          return;
        }
        setTail((t) => ({ ...t, state: 'waiting', note: 'The connection ended. Trying again.' }));
        await wait(Math.min(30_000, 500 * 2 ** attempt), stop.signal).catch(() => undefined);
      }
    };
    void follow();
    return () => {
      stop.abort();
      clearInterval(timer);
    };
    // The key stands for filter, project and roots.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [on, key]);
  // What waited is shown with the next update after the pause.
  return tail;
}
