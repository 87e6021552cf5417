import { useId, useRef, type KeyboardEvent, type ReactNode } from 'react';
import css from './tabs.module.css';

interface Props { label: string; tabs: readonly (readonly [id: string, text: string])[]; active: string; onChange: (id: string) => void; children: ReactNode }

/** Tabs shows one of several parts. Arrows choose, as the pattern of WAI-ARIA has it. */
export function Tabs({ label, tabs, active, onChange, children }: Props) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const press = (event: KeyboardEvent) => {
    const at = tabs.findIndex(([t]) => t === active);
    const to = event.key === 'ArrowRight' ? at + 1 : event.key === 'ArrowLeft' ? at - 1 : event.key === 'Home' ? 0 : event.key === 'End' ? tabs.length - 1 : undefined;
    if (to === undefined) return;
    event.preventDefault();
    const next = (to + tabs.length) % tabs.length;
    onChange(tabs[next]![0]);
    (list.current?.children[next] as HTMLElement | undefined)?.focus();
  };
  return (
    <div className={css['tabs']}>
      <div ref={list} role="tablist" aria-label={label} className={css['list']} onKeyDown={press}>
        {tabs.map(([t, text]) => (
          <button key={t} type="button" role="tab" id={`${id}-${t}`} aria-selected={t === active} aria-controls={`${id}-panel`} tabIndex={t === active ? 0 : -1} className={css['tab']} onClick={() => onChange(t)}>{text}</button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${active}`} tabIndex={0} className={css['panel']}>{children}</div>
    </div>
  );
}
