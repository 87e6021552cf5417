// The range of time and the zone of the whole page.

import { useCallback, useMemo, useSyncExternalStore } from 'react';
import { range } from '../url/state';
import { isZone, now, printIso, resolve, shift, type Nanos, type Range } from '../url/time';
import { useUrlState } from '../url/use';
import { usePrefs } from './prefs';

let refreshed: Nanos = now();
const listeners = new Set<() => void>();

/** refresh moves relative ranges to now; everything that depends on them is asked again. */
export function refresh(): void {
  refreshed = now();
  for (const changed of listeners) changed();
}

const schema = { t: range('24h'), z: { initial: '', parse: (text: string) => {
  if (text && !isZone(text)) throw new Error('it is the name of a zone, such as Europe/Berlin');
  return text;
}, print: (zone: string) => zone } };

export interface Clock {
  range: Range;
  from: Nanos;
  to: Nanos;
  /** The ends as the API takes them. */
  oldest: string;
  newest: string;
  zone: string;
  setRange: (next: Range) => void;
  setZone: (zone: string) => void;
  move: (by: -1 | 1) => void;
}

export function useClock(): Clock {
  const [state, set] = useUrlState(schema);
  const { zone } = usePrefs();
  const at = useSyncExternalStore((changed) => {
    listeners.add(changed);
    return () => listeners.delete(changed);
  }, () => refreshed);
  const { t } = state;
  const { from, to } = useMemo(() => resolve(t, at), [t, at]);
  const setRange = useCallback((next: Range) => set({ t: next }), [set]);
  const setZone = useCallback((z: string) => set({ z }), [set]);
  const move = useCallback((by: -1 | 1) => set({ t: shift(t, by, now()) }), [set, t]);
  return useMemo(() => ({ range: t, from, to, oldest: printIso(from), newest: printIso(to), zone: state.z || zone, setRange, setZone, move }), [t, from, to, state.z, zone, setRange, setZone, move]);
}
