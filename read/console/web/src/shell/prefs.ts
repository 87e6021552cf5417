// What this browser remembers: how things are shown, never data.

import { useSyncExternalStore } from 'react';

export interface Prefs {
  zone: string;
  theme: 'system' | 'light' | 'dark';
  density: 'dense' | 'normal' | 'wide';
  letters: boolean;
  wide: boolean;
  start: string;
  markdown: boolean;
  recent: readonly string[];
}

const INITIAL: Prefs = { zone: 'local', theme: 'system', density: 'normal', letters: true, wide: true, start: '/', markdown: true, recent: [] };
const NAME = 'colonnade.console';

let current = read();
const listeners = new Set<() => void>();

function read(): Prefs {
  try {
    return { ...INITIAL, ...(JSON.parse(localStorage.getItem(NAME) ?? '{}') as Partial<Prefs>) };
  } catch {
    return INITIAL; // the browser keeps nothing, or kept something else
  }
}

export function prefs(): Prefs {
  return current;
}

export function setPrefs(change: Partial<Prefs>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(NAME, JSON.stringify(current));
  } catch {
    // It holds for this page, then.
  }
  applyPrefs();
  for (const changed of listeners) changed();
}

export function applyPrefs(): void {
  const { dataset } = document.documentElement;
  if (current.theme === 'system') delete dataset['theme'];
  else dataset['theme'] = current.theme;
  dataset['density'] = current.density;
}

export function usePrefs(): Prefs {
  return useSyncExternalStore((changed) => {
    listeners.add(changed);
    const other = (event: StorageEvent) => {
      if (event.key !== NAME) return;
      current = read();
      applyPrefs();
      changed();
    };
    window.addEventListener('storage', other);
    return () => {
      listeners.delete(changed);
      window.removeEventListener('storage', other);
    };
  }, prefs);
}
