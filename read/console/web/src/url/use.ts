// The state of a page as React sees it.

import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { go } from '../shell/place';
import { decode, encode, type Broken, type Schema, type State } from './state';

function subscribe(changed: () => void): () => void {
  const events = ['hashchange', 'popstate', 'colonnade:address', 'pushState', 'replaceState'];
  for (const event of events) window.addEventListener(event, changed);
  return () => {
    for (const event of events) window.removeEventListener(event, changed);
  };
}

export function useFragment(): string {
  return useSyncExternalStore(subscribe, () => location.hash);
}

export type SetState<S extends Schema> = (change: Partial<State<S>>, how?: 'push' | 'replace') => void;

/** useUrlState gives what the address says, and a way to say something else. Choosing pushes an entry of the history. */
export function useUrlState<S extends Schema>(schema: S): [State<S>, SetState<S>, readonly Broken[]] {
  const fragment = useFragment();
  const { state, broken } = useMemo(() => decode(fragment, schema), [fragment, schema]);
  const set = useCallback<SetState<S>>((change, how = 'push') => {
    const next = encode(location.hash, schema, change);
    if (next === location.hash.slice(1)) return;
    go(location.pathname + (next && `#${next}`), how === 'replace');
  }, [schema]);
  return [state, set, broken];
}

/** useTyped calls with the last of what is typed, 300 ms after it. */
export function useTyped<T>(then: (value: T) => void, ms = 300): (value: T) => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const latest = useRef(then);
  latest.current = then;
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback((value: T) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => latest.current(value), ms);
  }, [ms]);
}
