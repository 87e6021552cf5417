import { X } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { IconButton } from '../button/button';
import css from './toast.module.css';

export interface Toast { id: number; text: string; bad?: boolean; at: number; action?: { text: string; run: () => void } }

let shown: readonly Toast[] = [];
let past: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();
const tell = () => { for (const changed of listeners) changed(); };

const SHOWN_FOR = 8000;

/** toast says in a corner what happened. It stays for 8 s and in the list of this page. */
export function toast(text: string, more: Pick<Toast, 'bad' | 'action'> = {}): void {
  const one: Toast = { id: ++last, text, at: Date.now(), ...more };
  shown = [...shown.slice(-3), one];
  past = [one, ...past].slice(0, 50);
  tell();
  setTimeout(() => close(one.id), SHOWN_FOR);
}

function close(id: number): void {
  shown = shown.filter((t) => t.id !== id);
  tell();
}

const subscribe = (changed: () => void) => {
  listeners.add(changed);
  return () => listeners.delete(changed);
};

export function usePastToasts(): readonly Toast[] {
  return useSyncExternalStore(subscribe, () => past);
}

export function Toasts() {
  const list = useSyncExternalStore(subscribe, () => shown);
  return (
    <div className={css['toasts']} role="status" aria-live="polite">
      {list.map((t) => (
        <div key={t.id} className={css['toast']} data-bad={t.bad || undefined}>
          <span>{t.text}</span>
          {t.action && <button type="button" onClick={() => { t.action?.run(); close(t.id); }}>{t.action.text}</button>}
          <IconButton icon={X} label="Dismiss" small onPress={() => close(t.id)} />
        </div>
      ))}
    </div>
  );
}

/** copy puts a text on the clipboard and says so. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} copied.`);
  } catch {
    toast('The browser did not allow copying.', { bad: true });
  }
}
