import { X } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { IconButton } from '../button/button';
import { useKeys } from '../../shell/keys';
import css from './panel.module.css';

/** Split has a page and, where there is one, a panel beside it whose width can be changed. */
export function Split({ children, panel, label, onClose, initial = 620 }: { children: ReactNode; panel: ReactNode; label: string; onClose: () => void; initial?: number }) {
  const [width, setWidth] = useState(initial);
  useKeys('Here', panel ? { Escape: { about: 'Close the panel', run: onClose } } : {});
  const limit = (w: number) => Math.min(Math.max(320, w), Math.max(320, innerWidth - 420));
  return (
    <div className={css['split']} ref={(e) => e?.style.setProperty('--panel', `${width}px`)} data-open={panel ? true : undefined}>
      <div className={css['main']}>{children}</div>
      {panel && (
        <aside className={css['panel']} aria-label={label}>
          <div className={css['grip']} role="separator" aria-orientation="vertical" aria-label="Width of the panel" aria-valuenow={width} aria-valuemin={320} aria-valuemax={2000} tabIndex={0}
            onKeyDown={(e) => {
              if (e.key === 'ArrowLeft') setWidth((w) => limit(w + 32));
              else if (e.key === 'ArrowRight') setWidth((w) => limit(w - 32));
              else return;
              e.preventDefault();
            }}
            onPointerDown={(e) => {
              const handle = e.currentTarget;
              const from = e.clientX;
              handle.setPointerCapture(e.pointerId);
              handle.onpointermove = (move) => setWidth(limit(width + from - move.clientX));
              handle.onpointerup = () => { handle.onpointermove = null; };
            }} />
          <div className={css['close']}><IconButton icon={X} small label="Close the panel" keys="Esc" onPress={onClose} /></div>
          {panel}
        </aside>
      )}
    </div>
  );
}
