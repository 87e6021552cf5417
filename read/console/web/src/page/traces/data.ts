import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { ApiError } from '../../api/errors';
import type { Analytics, Columns, Windowing } from '../../api/types';
import type { Bar } from '../../kit/chart/hist';
import type { Clock } from '../../shell/clock';
import { client, projectId, useApi } from '../../shell/session';
import type { Group } from '../../url/query';
import type { Focus } from './filter';
import { interval, MINUTE, parseIso } from '../../url/time';

export type Row = Record<string, unknown>;

export const PAGE = 100;
export const PREVIEW = 200;

/** rowsOf turns columns into rows. */
export function rowsOf(page: Columns): Row[] {
  const names = Object.keys(page.columns);
  const length = names.length ? page.columns[names[0]!]!.length : 0;
  return Array.from({ length }, (_, i) => Object.fromEntries(names.map((name) => [name, page.columns[name]![i]])));
}

export function keyOf(row: Row): string {
  return `${String(row['trace_id'])}.${String(row['span_id'])}`;
}

export function useRows(focus: Focus, filtering: Group | undefined, select: readonly string[], clock: Clock, descending: boolean, enabled: boolean) {
  const route = focus === 'traces' ? '/traces/query' : '/spans/query';
  const windowing: Windowing = { oldest: clock.oldest, newest: clock.newest, limit: PAGE, order: descending ? 'descending' : 'ascending' };
  const body = { ...(filtering && { filtering }), select, preview: PREVIEW };
  const list = useInfiniteQuery<Columns, ApiError, { pages: Columns[] }, unknown[], Windowing>({
    queryKey: [projectId(), 'POST', route, body, windowing],
    queryFn: ({ pageParam, signal }) => client.call<Columns>('POST', route, { body: { ...body, windowing: pageParam }, signal }),
    initialPageParam: windowing,
    getNextPageParam: (last) => (last.windowing?.next ? { ...windowing, ...last.windowing } : undefined),
    enabled,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const rows = useMemo(() => {
    const seen = new Set<string>();
    return (list.data?.pages ?? []).flatMap(rowsOf).filter((row) => {
      const key = keyOf(row);
      if (seen.has(key)) return false;
      seen.add(key);
      return true;
    });
  }, [list.data]);
  return { list, rows, body, route };
}

const ERRORS = 'attributes.ag.metrics.errors.cumulative';
/** Every span has a duration; errors are only there where some are. */
const COUNTED = 'attributes.ag.metrics.duration.cumulative';

export function useHistogram(focus: Focus, filtering: Group | undefined, clock: Clock, enabled: boolean) {
  const minutes = interval(clock.from, clock.to);
  const found = useApi<Analytics>('POST', '/spans/analytics/query', {
    body: {
      focus: focus === 'traces' ? 'trace' : 'span', ...(filtering && { filtering }), windowing: { oldest: clock.oldest, newest: clock.newest, interval: minutes },
      stats: ['count', 'count_positive'], specs: [COUNTED, ERRORS].map((path) => ({ type: 'numeric/continuous', path })),
    },
  }, { enabled });
  const bars = useMemo<Bar[]>(() => (found.data?.buckets ?? []).map((b) => ({
    at: parseIso(b.timestamp) ?? 0n, count: b.metrics[COUNTED]?.count ?? 0, bad: b.metrics[ERRORS]?.count_positive ?? 0,
  })), [found.data]);
  return { found, bars, step: BigInt(minutes) * MINUTE };
}
