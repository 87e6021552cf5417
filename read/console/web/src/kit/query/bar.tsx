import { Search, X } from 'lucide-react';
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { useApi } from '../../shell/session';
import { useKeys } from '../../shell/keys';
import { prefs, setPrefs } from '../../shell/prefs';
import { isGroup, isText, known, leaf, NAMES, parse, print, type Query } from '../../url/query';
import { IconButton } from '../button/button';
import css from './bar.module.css';

interface Props { value: string; onChange: (text: string) => void; placeholder?: string; refused?: { message: string; at?: readonly (string | number)[] } | undefined; extra?: React.ReactNode }

interface Offer { text: string; about: string; from: number; insert: string }

/** QueryBar is one filter as text, with its conditions as chips below. Nothing is asked while the text cannot be read. */
export function QueryBar({ value, onChange, placeholder = 'Filter: type:chat status:error cost>0.01 "late refund"', refused, extra }: Props) {
  const [text, setText] = useState(value);
  const [caret, setCaret] = useState<number | null>(null);
  const [at, setAt] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => setText(value), [value]);
  useKeys('Everywhere', { '/': { about: 'Go to the filter', run: () => { input.current?.focus(); input.current?.select(); } } });

  const parsed = useMemo(() => parse(text), [text]);
  const word = useMemo(() => (caret === null ? null : wordAt(text, caret)), [text, caret]);
  const offers = useOffers(word);
  const open = caret !== null && offers.length > 0;

  const send = (next: string) => {
    setText(next);
    if (!parse(next).ok) return;
    setCaret(null);
    const kept = next.trim();
    if (kept) setPrefs({ recent: [kept, ...prefs().recent.filter((r) => r !== kept)].slice(0, 50) });
    onChange(kept);
  };
  const take = (offer: Offer) => {
    const rest = text.slice(caret ?? text.length);
    const next = text.slice(0, offer.from) + offer.insert + rest;
    setText(next);
    setAt(-1);
    const place = offer.from + offer.insert.length;
    setCaret(place);
    requestAnimationFrame(() => input.current?.setSelectionRange(place, place));
  };
  const press = (event: KeyboardEvent<HTMLInputElement>) => {
    if (open && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      setAt((a) => (event.key === 'ArrowDown' ? (a + 1) % offers.length : (a <= 0 ? offers.length : a) - 1));
    } else if (open && event.key === 'Tab' && !event.shiftKey && (at >= 0 || word?.part)) {
      event.preventDefault();
      take(offers[Math.max(0, at)]!);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      if (open && at >= 0) take(offers[at]!);
      else send(event.altKey && text.trim() ? `(${text.trim()}) or ` : text);
    } else if (event.key === 'Escape') {
      event.preventDefault();
      if (open) setCaret(null);
      else input.current?.blur();
    }
  };

  const error = parsed.ok ? undefined : parsed.error;
  return (
    <div className={css['bar']}>
      <div className={css['line']} data-bad={error || refused ? true : undefined}>
        <Search size={14} aria-hidden />
        <div className={css['field']}>
          <div className={css['shadow']} aria-hidden="true">{error ? <>{text.slice(0, error.from)}<u>{text.slice(error.from, error.to) || ' '}</u></> : null}</div>
          <input
            ref={input} value={text} placeholder={placeholder} spellCheck={false} autoComplete="off" role="combobox" aria-label="Filter" aria-expanded={open} aria-controls={`${id}-list`} aria-autocomplete="list"
            aria-invalid={error ? true : undefined} aria-describedby={error || refused ? `${id}-error` : undefined} {...(open && at >= 0 && { 'aria-activedescendant': `${id}-${at}` })}
            onChange={(e) => { setText(e.target.value); setCaret(e.target.selectionStart); setAt(-1); }}
            onFocus={(e) => setCaret(e.target.selectionStart)} onBlur={() => { setCaret(null); if (parsed.ok && text.trim() !== value) send(text); }}
            onClick={(e) => setCaret(e.currentTarget.selectionStart)} onKeyDown={press}
          />
        </div>
        {text && <IconButton icon={X} small label="Clear the filter" onPress={() => send('')} />}
        {extra}
      </div>
      <ul id={`${id}-list`} role="listbox" aria-label="Completions" className={css['offers']} hidden={!open}>
        {offers.map((o, i) => (
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the field has the keys of its list
          <li key={o.text + o.about} id={`${id}-${i}`} role="option" aria-selected={i === at} onMouseDown={(e) => e.preventDefault()} onClick={() => take(o)}><code>{o.text}</code><span>{o.about}</span></li>
        ))}
      </ul>
      {(error ?? refused) && caret === null && <p id={`${id}-error`} className={css['error']} role="alert">{error?.message ?? refused?.message}</p>}
      {error && caret !== null && <p id={`${id}-error`} className={css['hint']}>{error.message}</p>}
      {parsed.ok && parsed.query && <Chips query={parsed.query} refused={refused?.at} onChange={(q) => send(print(q))} />}
    </div>
  );
}

/** Chips are the conditions of the outermost "and"; what is a group is one chip. */
function Chips({ query, onChange, refused }: { query: Query; onChange: (query: Query | null) => void; refused: readonly (string | number)[] | undefined }) {
  const list = isGroup(query) && query.operator === 'and' ? query.conditions : [query];
  const wrong = refused?.find((part) => typeof part === 'number');
  return (
    <ul className={css['chips']} aria-label="Conditions">
      {list.map((c, i) => {
        const text = isGroup(c) ? print(c) : leaf(c);
        return (
          <li key={`${i}${text}`} data-bad={wrong === i || undefined} data-text={isText(c) || undefined}>
            <span>{text}</span>
            <button type="button" aria-label={`Remove ${text}`} onClick={() => {
              const rest = list.filter((_, j) => j !== i);
              onChange(rest.length === 0 ? null : rest.length === 1 ? rest[0]! : { operator: 'and', conditions: rest });
            }}><X size={11} aria-hidden /></button>
          </li>
        );
      })}
    </ul>
  );
}

interface Word { from: number; part: string; field?: string }

/** wordAt finds what is being written: the name of a field, or a value of it. */
export function wordAt(text: string, caret: number): Word {
  const before = text.slice(0, caret);
  const found = /(?:^|[\s(])-?([\p{L}\p{N}_.@/-]*)(?:(!?:\(?|!?=|[<>~^$]=?|~~)((?:"[^"]*|[^\s"()]*)))?$/u.exec(before);
  if (!found) return { from: caret, part: '' };
  const [, name = '', operator, value = ''] = found;
  return operator === undefined ? { from: caret - name.length, part: name } : { from: caret - value.length, part: value.replace(/^"/, ''), field: name };
}

function useOffers(word: Word | null): Offer[] {
  const asked = word && (word.field ? known(word.field).length === 0 : word.part.includes('.'));
  const fields = useApi<{ fields: { path: string; type?: string; sample?: unknown }[] }>('GET', '/spans/fields', { query: { prefix: word?.part ?? '', limit: 12 } }, { enabled: Boolean(asked && !word?.field && word.part.length > 2), staleTime: 60_000 });
  return useMemo(() => {
    if (!word) return [];
    if (word.field) {
      return known(word.field).filter((v) => v.startsWith(word.part)).map((v) => ({ text: v, about: '', from: word.from, insert: `${v} ` }));
    }
    if (!word.part) return [];
    const own = NAMES.filter((n) => n.name.startsWith(word.part) && n.name !== word.part)
      .map((n) => ({ text: n.name, about: n.about, from: word.from, insert: n.name === 'root' ? 'root ' : n.name.endsWith('.') ? n.name : `${n.name}:` }));
    const others = (fields.data?.fields ?? []).map((f) => ({ text: f.path, about: f.type ?? '', from: word.from, insert: `${f.path}:` }));
    return [...own, ...others].slice(0, 12);
  }, [word, fields.data]);
}
