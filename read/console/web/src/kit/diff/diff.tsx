import { diffWordsWithSpace } from 'diff';
import { useMemo } from 'react';
import css from './diff.module.css';

/** The longest texts that are compared by words; comparing longer ones would hold the page up. */
const MOST = 20_000;

/** WordDiff shows a text with the words that it has more or fewer than another. Added and removed words differ in shape as well as colour. */
export function WordDiff({ from, to }: { from: string; to: string }) {
  const parts = useMemo(() => (from.length + to.length > MOST ? undefined : diffWordsWithSpace(from, to)), [from, to]);
  if (!parts) return <p className={css['diff']}>{to}</p>;
  return (
    <p className={css['diff']}>
      {parts.map((part, i) => (part.added ? <ins key={i}>{part.value}</ins> : part.removed ? <del key={i}>{part.value}</del> : <span key={i}>{part.value}</span>))}
    </p>
  );
}

export interface Change { path: string; from: unknown; to: unknown }

/** changes lists the members in which two JSON values differ, by their dotted paths. */
export function changes(from: unknown, to: unknown, path = ''): Change[] {
  if (JSON.stringify(from) === JSON.stringify(to)) return [];
  const plain = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);
  if (plain(from) && plain(to)) {
    return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((key) => changes(from[key], to[key], path ? `${path}.${key}` : key));
  }
  if (Array.isArray(from) && Array.isArray(to)) {
    return Array.from({ length: Math.max(from.length, to.length) }, (_, i) => i).flatMap((i) => changes(from[i], to[i], `${path}[${i}]`));
  }
  return [{ path, from, to }];
}

/** Changes is a table of the members in which two values differ. */
export function Changes({ from, to, names }: { from: unknown; to: unknown; names: readonly [string, string] }) {
  const list = useMemo(() => changes(from, to), [from, to]);
  if (!list.length) return <p className={css['none']}>Both are configured alike.</p>;
  const text = (v: unknown) => (v === undefined ? '–' : typeof v === 'string' ? v : JSON.stringify(v));
  return (
    <table className={css['changes']}>
      <thead><tr><th>member</th><th>{names[0]}</th><th>{names[1]}</th></tr></thead>
      <tbody>
        {list.slice(0, 200).map((c) => (
          <tr key={c.path}><th>{c.path || 'value'}</th><td>{text(c.from)}</td><td>{typeof c.from === 'string' && typeof c.to === 'string' ? <WordDiff from={c.from} to={c.to} /> : text(c.to)}</td></tr>
        ))}
      </tbody>
    </table>
  );
}
