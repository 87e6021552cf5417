// The keyboard. A page declares its keys while it is there; the innermost wins.

import { useEffect, useRef, useSyncExternalStore } from 'react';
import { prefs } from './prefs';

export interface Binding { about: string; run: (event: KeyboardEvent) => void; hidden?: boolean }
/** By key: "r", "g t", "Mod+k", "Shift+Enter", "ArrowDown". */
export type Bindings = Record<string, Binding>;

interface Layer { title: string; bindings: { current: Bindings } }

let layers: readonly Layer[] = [];
const listeners = new Set<() => void>();
let prefix = '';
let timer: ReturnType<typeof setTimeout> | undefined;

/** useKeys declares keys for as long as the component is there. */
export function useKeys(title: string, bindings: Bindings): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  useEffect(() => {
    const layer: Layer = { title, bindings: latest };
    layers = [...layers, layer];
    for (const changed of listeners) changed();
    return () => {
      layers = layers.filter((l) => l !== layer);
      for (const changed of listeners) changed();
    };
  }, [title]);
}

export function useLayers(): readonly Layer[] {
  return useSyncExternalStore((changed) => {
    listeners.add(changed);
    return () => listeners.delete(changed);
  }, () => layers);
}

function nameOf(event: KeyboardEvent): string {
  const mod = event.metaKey || event.ctrlKey ? 'Mod+' : '';
  const alt = event.altKey ? 'Alt+' : '';
  // Shift is in the character itself, except where there is none.
  const shift = event.shiftKey && event.key.length > 1 ? 'Shift+' : '';
  return `${mod}${alt}${shift}${event.key.length === 1 && mod ? event.key.toLowerCase() : event.key}`;
}

export function isEditable(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function handle(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const name = nameOf(event);
  const plain = !name.startsWith('Mod+') && !name.startsWith('Alt+');
  if (plain && isEditable(event.target) && name !== 'Escape') return;
  // A menu or a dialog that is open has the keyboard for itself.
  if (plain && name !== 'Escape' && event.target instanceof Element && event.target.closest('[role=dialog],[role=menu],[role=listbox],[role=alertdialog]') && !event.target.closest('[data-keys]')) return;
  if (plain && name.length === 1 && !prefs().letters) return;
  const full = prefix ? `${prefix} ${name}` : name;
  for (const layer of layers.toReversed()) {
    const binding = layer.bindings.current[full];
    if (binding) {
      reset();
      event.preventDefault();
      binding.run(event);
      return;
    }
  }
  const opens = plain && name.length === 1 && layers.some((l) => Object.keys(l.bindings.current).some((key) => key.startsWith(`${name} `)));
  reset();
  if (opens) {
    prefix = name;
    timer = setTimeout(reset, 1500);
    event.preventDefault();
  }
}

function reset(): void {
  prefix = '';
  clearTimeout(timer);
}

export function startKeys(): void {
  window.addEventListener('keydown', handle);
}
