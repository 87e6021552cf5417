import { Download, Table2 } from 'lucide-react';
import { useRef, useState, useSyncExternalStore, type KeyboardEvent, type PointerEvent } from 'react';
import { printIso, showTime, type Nanos } from '../../url/time';
import { IconButton } from '../button/button';
import css from './series.module.css';

/** Mark is something that happened at a moment, such as a deployment. */
export interface Mark { at: Nanos; text: string; to?: string }

export interface Series { name: string; values: readonly (number | null)[]; colour: string; dash?: string }

interface Props {
  title: string;
  at: readonly Nanos[];
  step: Nanos;
  from: Nanos;
  to: Nanos;
  series: readonly Series[];
  kind: 'line' | 'stack';
  format: (n: number | null) => string;
  zone: string;
  onZoom: (from: Nanos, to: Nanos) => void;
  onPick?: (name: string) => void;
  extra?: React.ReactNode;
  height?: number;
  marks?: readonly Mark[];
  /** Values of single moments: a gap does not break the line, and each value has a dot. */
  points?: boolean;
}

// One crosshair for all charts of a page: a time, or none.
let crosshair: Nanos | null = null;
const listeners = new Set<() => void>();
function setCrosshair(at: Nanos | null): void {
  if (at === crosshair) return;
  crosshair = at;
  for (const changed of listeners) changed();
}
function useCrosshair(): Nanos | null {
  return useSyncExternalStore((changed) => {
    listeners.add(changed);
    return () => listeners.delete(changed);
  }, () => crosshair);
}

const W = 1000;

/** SeriesChart draws values over time, as lines or stacked. It has a table for those who cannot see it. */
export function SeriesChart({ title, at, step, from, to, series, kind, format, zone, onZoom, onPick, extra, height = 132, marks = [], points }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [brush, setBrush] = useState<[number, number] | null>(null);
  const [table, setTable] = useState(false);
  const cross = useCrosshair();
  const span = Number(to - from);
  const tops = stacked(series, at.length, kind);
  const most = Math.max(1e-12, ...tops.flatMap((values) => values.filter((v): v is number => v !== null)));
  const x = (t: Nanos) => (Number(t - from) / span) * W;
  const y = (v: number) => height - (v / (most * 1.06)) * height;
  const width = Math.max(1, (Number(step) / span) * W);
  const middle = points ? 0 : width / 2;
  const index = cross === null ? -1 : points ? nearest(at, cross) : at.findIndex((t) => cross >= t && cross < t + step);
  const share = (event: PointerEvent) => {
    const rect = box.current!.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - rect.left) / rect.width));
  };
  const shown = marks.filter((m) => m.at >= from && m.at <= to);
  const timeAt = (s: number) => from + BigInt(Math.round(s * span));
  const press = (event: KeyboardEvent) => {
    const move = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (move) setCrosshair(at[Math.min(at.length - 1, Math.max(0, (index < 0 ? (move > 0 ? -1 : at.length) : index) + move))] ?? null);
    else if (event.key === 'Enter' && index >= 0) onZoom(at[index]!, at[index]! + step);
    else if (event.key === 'Escape') setCrosshair(null);
    else return;
    event.preventDefault();
  };

  return (
    <figure className={css['chart']}>
      <figcaption>
        <h2>{title}</h2>
        {extra}
        <ul className={css['legend']}>
          {series.map((s) => (
            <li key={s.name}>
              {onPick ? <button type="button" onClick={() => onPick(s.name)}><Swatch colour={s.colour} dash={s.dash} />{s.name}</button> : <span><Swatch colour={s.colour} dash={s.dash} />{s.name}</span>}
            </li>
          ))}
        </ul>
        {table && <IconButton small icon={Download} label="Download as CSV" onPress={() => download(title, at, series)} />}
        <IconButton small icon={Table2} label={table ? 'As a chart' : 'As a table'} pressed={table} onPress={() => setTable(!table)} />
      </figcaption>
      {table ? (
        <div className={css['table']}>
          <table>
            <thead><tr><th>from</th>{series.map((s) => <th key={s.name}>{s.name}</th>)}</tr></thead>
            <tbody>{at.map((t, i) => <tr key={t.toString()}><th>{showTime(t, zone, 'minute')}</th>{series.map((s) => <td key={s.name}>{format(s.values[i] ?? null)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      ) : (
        <div className={css['body']}>
          <div className={css['axis']} aria-hidden="true"><span>{format(most)}</span><span>{format(most / 2)}</span><span>0</span></div>
          <div ref={box} className={css['plot']} tabIndex={0} role="application" aria-label={`${title}. ${series.map((s) => s.name).join(', ')}. Arrows move, Enter zooms.`} onKeyDown={press}
            onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); setBrush([share(e), share(e)]); }}
            onPointerMove={(e) => { const s = share(e); if (brush) setBrush([brush[0], s]); setCrosshair(timeAt(s)); }}
            onPointerLeave={() => setCrosshair(null)}
            onPointerUp={() => { if (brush && Math.abs(brush[0] - brush[1]) > 0.01) onZoom(timeAt(Math.min(...brush)), timeAt(Math.max(...brush))); setBrush(null); }}>
            <svg viewBox={`0 0 ${W} ${height}`} height={height} width="100%" preserveAspectRatio="none" aria-hidden="true">
              <path className={css['grid']} d={`M0 ${y(most)}H${W}M0 ${y(most / 2)}H${W}`} vectorEffect="non-scaling-stroke" />
              {kind === 'stack'
                ? series.map((s, k) => <path key={s.name} ref={fill(s.colour)} d={at.map((t, i) => {
                  const top = tops[k]![i] ?? 0;
                  const low = k ? (tops[k - 1]![i] ?? 0) : 0;
                  return top > low ? `M${x(t) + width * 0.08} ${y(low)}V${y(top)}h${width * 0.84}V${y(low)}z` : '';
                }).join('')} />)
                : series.map((s) => <path key={s.name} className={css['line']} ref={stroke(s.colour, s.dash)} vectorEffect="non-scaling-stroke" d={line(at.map((t, i) => [x(t) + middle, s.values[i] === null || s.values[i] === undefined ? null : y(s.values[i])]), points)} />)}
              {points && series.map((s) => <path key={s.name} className={css['dots']} ref={stroke(s.colour, undefined)} vectorEffect="non-scaling-stroke" d={at.map((t, i) => (s.values[i] === null || s.values[i] === undefined ? '' : `M${x(t)} ${y(s.values[i])}h0.01`)).join('')} />)}
              {shown.map((m) => <path key={`${m.at}${m.text}`} className={css['mark']} vectorEffect="non-scaling-stroke" d={`M${x(m.at)} 0V${height}`} />)}
              {index >= 0 && <path className={css['cross']} vectorEffect="non-scaling-stroke" d={`M${x(at[index]!) + middle} 0V${height}`} />}
              {brush && <rect className={css['brush']} x={Math.min(...brush) * W} width={Math.abs(brush[0] - brush[1]) * W} y={0} height={height} />}
            </svg>
            {index >= 0 && box.current?.matches(':hover, :focus-visible') && (
              <div className={css['tip']} role="status" ref={(e) => { if (e) { const p = (x(at[index]!) / W) * 100; e.style.left = p < 60 ? `${p + 2}%` : ''; e.style.right = p < 60 ? '' : `${102 - p}%`; } }}>
                <b>{showTime(at[index]!, zone, 'minute')}</b>
                {series.map((s) => <div key={s.name}><Swatch colour={s.colour} dash={s.dash} /><span>{s.name}</span><span>{format(s.values[index] ?? null)}</span></div>)}
                {shown.filter((m) => m.at >= at[index]! && m.at < at[index]! + step).map((m) => <div key={m.text}>▲ <span>{m.text}</span></div>)}
              </div>
            )}
          </div>
        </div>
      )}
      {shown.length > 0 && !table && <ul className={css['marks']}>{shown.slice(-4).map((m) => <li key={`${m.at}${m.text}`} title={showTime(m.at, zone)}>▲ {m.text}</li>)}</ul>}
    </figure>
  );
}

function stacked(series: readonly Series[], n: number, kind: 'line' | 'stack'): (number | null)[][] {
  if (kind === 'line') return series.map((s) => [...s.values]);
  const sums = Array.from({ length: n }, () => 0);
  return series.map((s) => sums.map((_, i) => (sums[i] = sums[i]! + (s.values[i] ?? 0))));
}

function nearest(at: readonly Nanos[], to: Nanos): number {
  let best = -1;
  for (let i = 0; i < at.length; i++) if (best < 0 || abs(at[i]! - to) < abs(at[best]! - to)) best = i;
  return best;
}

const abs = (n: Nanos) => (n < 0n ? -n : n);

/** csvOf writes the numbers of a chart, a line for each moment. */
export function csvOf(at: readonly Nanos[], series: readonly Series[]): string {
  const cell = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [['time', ...series.map((s) => cell(/^[=+\-@]/.test(s.name) ? `'${s.name}` : s.name))], ...at.map((t, i) => [printIso(t), ...series.map((s) => String(s.values[i] ?? ''))])].map((row) => row.join(',')).join('\r\n');
}

function download(title: string, at: readonly Nanos[], series: readonly Series[]): void {
  const url = URL.createObjectURL(new Blob([csvOf(at, series)], { type: 'text/csv' }));
  const a = document.createElement('a');
  a.href = url;
  a.download = `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.csv`;
  a.click();
  URL.revokeObjectURL(url);
}

function line(points: readonly (readonly [number, number | null])[], joined = false): string {
  let open = false;
  return points.map(([px, py]) => {
    if (py === null) {
      open &&= joined;
      return '';
    }
    const d = `${open ? 'L' : 'M'}${px.toFixed(1)} ${py.toFixed(1)}`;
    open = true;
    return d;
  }).join('');
}

const fill = (colour: string) => (e: SVGPathElement | null) => { if (e) e.style.fill = `var(--${colour})`; };
const stroke = (colour: string, dash: string | undefined) => (e: SVGPathElement | null) => {
  if (!e) return;
  e.style.stroke = `var(--${colour})`;
  e.style.strokeDasharray = dash ?? '';
};

function Swatch({ colour, dash }: { colour: string; dash: string | undefined }) {
  return <i className={css['swatch']} data-dash={dash ? true : undefined} ref={(e) => { if (e) e.style.setProperty('--c', `var(--${colour})`); }} />;
}

/** Spark is a small line without axes; the numbers stand beside it. */
export function Spark({ values }: { values: readonly (number | null)[] }) {
  const there = values.filter((v): v is number => v !== null);
  if (there.length < 2) return null;
  const low = Math.min(...there);
  const high = Math.max(...there);
  return <svg className={css['spark']} viewBox="0 0 100 20" preserveAspectRatio="none" width="80" height="18" aria-hidden="true"><path vectorEffect="non-scaling-stroke" d={line(values.map((v, i) => [(i / (values.length - 1)) * 100, v === null ? null : 18 - ((v - low) / (high - low || 1)) * 16]))} /></svg>;
}
