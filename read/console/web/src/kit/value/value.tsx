import { memo } from 'react';
import { useClock } from '../../shell/clock';
import { showAgo, showClock, showTime, now, parseIso, printIso, type Nanos } from '../../url/time';
import { showCost, showDuration, showScore, showTokens } from '../../url/number';
import { copy } from '../toast/toast';
import css from './value.module.css';

/** Time shows one moment in the zone of the page; the rest is in its title. */
export function Time({ at, short }: { at: Nanos | string; short?: boolean }) {
  const { zone } = useClock();
  const nanos = typeof at === 'bigint' ? at : parseIso(at);
  if (nanos === undefined) return <span className={css['dim']}>–</span>;
  const title = `${showTime(nanos, zone, 'nano')}\n${printIso(nanos, 9)}\n${showAgo(nanos, now())}`;
  return <time className={css['time']} dateTime={printIso(nanos)} title={title}>{short ? showClock(nanos, zone) : showTime(nanos, zone)}</time>;
}

export function Ago({ at }: { at: Nanos | string | undefined }) {
  const { zone } = useClock();
  const nanos = typeof at === 'bigint' ? at : at ? parseIso(at) : undefined;
  if (nanos === undefined) return <span className={css['dim']}>–</span>;
  return <time dateTime={printIso(nanos)} title={showTime(nanos, zone)}>{showAgo(nanos, now())}</time>;
}

type N = number | null | undefined;

export function Duration({ ms }: { ms: N }) {
  return <data className={css['number']} value={ms ?? ''}>{showDuration(ms)}</data>;
}
export function Cost({ value }: { value: N }) {
  return <data className={css['number']} value={value ?? ''}>{showCost(value)}</data>;
}
export function Tokens({ value }: { value: N }) {
  return <data className={css['number']} value={value ?? ''}>{showTokens(value)}</data>;
}
export function Score({ value }: { value: unknown }) {
  if (typeof value === 'boolean') return <span className={value ? css['yes'] : css['no']}>{value ? '✓' : '✗'}<span className="sr"> {value ? 'yes' : 'no'}</span></span>;
  if (typeof value === 'number') return <data className={css['number']} value={value}>{showScore(value)}</data>;
  if (value === null || value === undefined) return <span className={css['dim']}>–</span>;
  return <span>{typeof value === 'string' ? value : JSON.stringify(value)}</span>;
}

/** Id is short to look at and whole to copy. */
export function Id({ id, what = 'Id', length = 8 }: { id: string; what?: string; length?: number }) {
  return <button type="button" className={css['id']} title={`${id}\nClick to copy`} onClick={() => void copy(id, what)}>{id.length > length + 2 ? `${id.slice(0, length)}…` : id}</button>;
}

const LETTERS: Record<string, string> = {
  workflow: 'W', agent: 'A', chain: 'C', task: 'T', tool: 'F', llm: 'L', chat: 'M', completion: 'P', embedding: 'E', query: 'Q', rerank: 'R', unknown: '·',
};

/** SpanType is a letter on the hue of the type: colour alone is never the sign. */
export const SpanType = memo(function SpanType({ type }: { type: string }) {
  const known = Object.hasOwn(LETTERS, type) ? type : 'unknown';
  return <span className={css['type']} data-type={known} title={type} role="img" aria-label={type}>{LETTERS[known]}</span>;
});

export function Status({ code, message }: { code: string; message?: string }) {
  const word = code.replace('STATUS_CODE_', '').toLowerCase();
  if (word === 'error') return <span className={css['error']} title={message ?? 'error'} role="img" aria-label="error">▲</span>;
  return null;
}
