import { useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import { showCount } from '../../url/number';
import { showTime, type Nanos } from '../../url/time';
import css from './hist.module.css';

export interface Bar { at: Nanos; count: number; bad: number }

interface Props { bars: readonly Bar[]; from: Nanos; to: Nanos; step: Nanos; zone: string; what: string; onZoom: (from: Nanos, to: Nanos) => void; height?: number }

/** Hist shows how much came when, errors on top; drawing over it chooses a range. */
export function Hist({ bars, from, to, step, zone, what, onZoom, height = 44 }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [brush, setBrush] = useState<[number, number] | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const span = Number(to - from);
  const most = Math.max(1, ...bars.map((b) => b.count));
  const sum = bars.reduce((n, b) => n + b.count, 0);
  const bad = bars.reduce((n, b) => n + b.bad, 0);
  const share = (at: Nanos) => Number(at - from) / span;
  const timeAt = (x: number) => from + BigInt(Math.round(Math.min(1, Math.max(0, x)) * span));
  const x = (event: PointerEvent) => {
    const rect = box.current!.getBoundingClientRect();
    return (event.clientX - rect.left) / rect.width;
  };
  const at = cursor === null ? undefined : bars[cursor];

  // One path for all bars: a page has few nodes, however many intervals it shows.
  const rect = (b: Bar, n: number) => {
    if (!n) return '';
    const h = Math.max(1.5, (n / most) * (height - 2));
    return `M${share(b.at) * 1000} ${height}v${-h}h${Math.max(1, (Number(step) / span) * 1000 - 1)}v${h}z`;
  };
  const press = (event: KeyboardEvent) => {
    const move = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (move) setCursor((c) => Math.min(bars.length - 1, Math.max(0, (c ?? (move > 0 ? -1 : bars.length)) + move)));
    else if (event.key === 'Enter' && at) onZoom(at.at, at.at + step);
    else if (event.key === 'Escape') setCursor(null);
    else return;
    event.preventDefault();
  };

  return (
    <figure className={css['hist']}>
      <figcaption className="sr">{`${showCount(sum)} ${what} in ${bars.length} intervals, ${showCount(bad)} with errors.`}</figcaption>
      <div
        ref={box} className={css['plot']} tabIndex={0} role="application" aria-label={`${what} over time. Arrows move, Enter zooms, drawing chooses a range.`} onKeyDown={press}
        onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); setBrush([x(e), x(e)]); }}
        onPointerMove={(e) => {
          const here = x(e);
          if (brush) setBrush([brush[0], here]);
          const t = timeAt(here);
          const i = bars.findIndex((b) => t >= b.at && t < b.at + step);
          setCursor(i < 0 ? null : i);
        }}
        onPointerLeave={() => { if (!brush) setCursor(null); }}
        onPointerUp={() => {
          if (brush && Math.abs(brush[0] - brush[1]) > 0.005) onZoom(timeAt(Math.min(...brush)), timeAt(Math.max(...brush)));
          setBrush(null);
        }}
      >
        <svg width="100%" height={height} viewBox={`0 0 1000 ${height}`} preserveAspectRatio="none" aria-hidden="true">
          <path className={css['bar']} d={bars.map((b) => rect(b, b.count)).join('')} />
          <path className={css['bad']} d={bars.map((b) => rect(b, b.bad)).join('')} />
          {at && <path className={css['on']} d={rect(at, at.count)} />}
          {brush && <rect className={css['brush']} x={Math.min(...brush) * 1000} y={0} width={Math.abs(brush[0] - brush[1]) * 1000} height={height} />}
        </svg>
        {at && (
          <div className={css['tip']} ref={(e) => { if (e) { e.style.left = `${Math.min(92, Math.max(8, (share(at.at) + Number(step) / span / 2) * 100))}%`; } }} role="status">
            <b>{showCount(at.count)}</b>{at.bad > 0 && <em> {showCount(at.bad)} ▲</em>} · {showTime(at.at, zone, 'minute')}
          </div>
        )}
      </div>
    </figure>
  );
}
