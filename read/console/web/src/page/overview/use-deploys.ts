import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Mark } from '../../kit/chart/series';
import { client, may, projectId, useApi } from '../../shell/session';
import { deploysOf, type EnvironmentRevision } from './deploys';

interface Environments { environments?: { id: string; slug: string; name?: string }[] }

/** useDeploys asks for the revisions of every environment. */
export function useDeploys(): Mark[] {
  const allowed = may('view_environments');
  const found = useApi<Environments>('POST', '/simple/environments/query', { body: { windowing: { limit: 20 } } }, { enabled: allowed, staleTime: 60_000 });
  const all = found.data?.environments ?? [];
  const logs = useQueries({
    queries: all.map((e) => ({
      queryKey: [projectId(), 'POST', '/environments/revisions/log', e.id],
      queryFn: ({ signal }: { signal: AbortSignal }) => client.call<{ environment_revisions?: EnvironmentRevision[] }>('POST', '/environments/revisions/log', { body: { environment: { environment_id: e.id } }, signal }),
      staleTime: 60_000,
    })),
  });
  const loaded = logs.map((l) => l.data);
  // oxlint-disable-next-line react/exhaustive-deps -- the answers are the same objects until they are asked again
  return useMemo(() => all.flatMap((e, i) => deploysOf(e.name ?? e.slug, loaded[i]?.environment_revisions ?? [])), [found.data, ...loaded]);
}
