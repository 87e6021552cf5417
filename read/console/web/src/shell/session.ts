// Who is signed in, to which projects, and the client that speaks for them.

import { keepPreviousData, QueryClient, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { Client, wait, type Method } from '../api/client';
import { ApiError } from '../api/errors';
import { Tokens } from '../api/token';
import type { Session } from '../api/types';
import { entries } from '../url/state';
import { SERVICE } from './place';

const channel = new BroadcastChannel('colonnade.tokens');
const signals = new BroadcastChannel('colonnade.session');

type State = { session: Session | null | undefined; pending: boolean };

let state: State = { session: undefined, pending: false };
const listeners = new Set<() => void>();

function change(next: Partial<State>): void {
  state = { ...state, ...next };
  for (const changed of listeners) changed();
}

export function useSession(): State {
  return useSyncExternalStore((changed) => {
    listeners.add(changed);
    return () => listeners.delete(changed);
  }, () => state);
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The client repeats what was lost; what the service refused stays refused.
      retry: false, staleTime: 30_000, gcTime: 300_000, refetchOnWindowFocus: false, placeholderData: keepPreviousData,
    },
    mutations: { retry: false },
  },
});

const tokens = new Tokens(Date.now, channel);

export const client = new Client({
  fetch: (input, init) => fetch(input, init),
  tokens,
  origin: SERVICE,
  project: () => projectId(),
  signedOut: (project) => {
    const { session } = state;
    const rest = session?.projects.filter((p) => p.project_id !== project) ?? [];
    if (session && project && rest.length) change({ session: { ...session, projects: rest } });
    else if (session) leave();
  },
  pending: (_, is) => {
    if (is !== state.pending) change({ pending: is });
    if (is) setTimeout(() => void queries.invalidateQueries({ predicate: (q) => q.isActive() }), 1000);
  },
  wait,
});

/** projectId is the project of the address, or the default of the session. */
export function projectId(): string | undefined {
  const named = entries(location.hash).get('p');
  const projects = state.session?.projects ?? [];
  return (projects.find((p) => p.project_id === named) ?? projects.find((p) => p.default) ?? projects[0])?.project_id;
}

export function may(permission: string): boolean {
  const id = projectId();
  return state.session?.projects.find((p) => p.project_id === id)?.permissions.includes(permission) ?? false;
}

/** load asks who is signed in. Nobody is an answer, too. */
export async function loadSession(): Promise<void> {
  try {
    change({ session: await client.call<Session>('GET', '/auth/session') });
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) change({ session: null });
    else throw error;
  }
}

export async function signIn(proof: { key: string } | { link: string }): Promise<void> {
  await client.call('POST', '/auth/session', { body: proof });
  await loadSession();
  signals.postMessage('in');
}

/** lookAtLink asks whom a link signs in, and leaves it as it is. */
export async function lookAtLink(link: string): Promise<{ user: string; project: string }> {
  return client.call('POST', '/auth/session', { body: { link, look: true } });
}

export async function signOut(): Promise<void> {
  await client.call('DELETE', '/auth/session');
  leave();
  signals.postMessage('out');
}

function leave(): void {
  queries.clear();
  tokens.clear();
  change({ session: null, pending: false });
}

signals.addEventListener('message', (event: MessageEvent<unknown>) => {
  if (event.data === 'out') leave();
  else void loadSession().catch(() => undefined);
});

export interface Ask { body?: unknown; query?: Record<string, string | number | boolean | readonly string[] | undefined> }

/** useApi asks a route, and again when its key changes. What was there stays until the next is. */
export function useApi<T>(method: Method, route: string, ask: Ask = {}, options: { enabled?: boolean; staleTime?: number; refetchInterval?: number | false; keep?: boolean } = {}): UseQueryResult<T, ApiError> {
  const { keep = true, ...rest } = options;
  return useQuery<T, ApiError>({
    queryKey: [projectId(), method, route, ask.body ?? null, ask.query ?? null],
    queryFn: ({ signal }) => client.call<T>(method, route, { ...ask, signal, reads: true }),
    ...(keep ? {} : { placeholderData: undefined }),
    ...rest,
  });
}
