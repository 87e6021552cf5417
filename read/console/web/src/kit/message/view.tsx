import { Copy } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { setPrefs, usePrefs } from '../../shell/prefs';
import { Choice, IconButton } from '../button/button';
import { JsonView } from '../json/json';
import { copy } from '../toast/toast';
import { safeImage, safeLink, textOf, type Message, type Part, type ToolCall } from './message';
import css from './message.module.css';

const Markdown = lazy(() => import('./markdown'));

const LONG = 6000;

/** Messages shows a conversation; results of tools stand with their calls. */
export function Messages({ messages, label }: { messages: readonly Message[]; label: string }) {
  const results = new Map(messages.filter((m) => m.callId).map((m) => [m.callId!, m]));
  const joined = new Set(messages.flatMap((m) => m.calls.map((c) => c.id).filter((id): id is string => id !== undefined && results.has(id))));
  return (
    <div className={css['messages']} role="group" aria-label={label}>
      {messages.map((m, i) => (m.callId && joined.has(m.callId) ? null : <MessageView key={i} message={m} results={results} />))}
    </div>
  );
}

export function MarkdownSwitch() {
  const { markdown } = usePrefs();
  return <Choice label="How texts are shown" value={markdown ? 'markdown' : 'verbatim'} options={[['markdown', 'Markdown'], ['verbatim', 'Verbatim']]} onChange={(v) => setPrefs({ markdown: v === 'markdown' })} />;
}

function MessageView({ message, results }: { message: Message; results: ReadonlyMap<string, Message> }) {
  const text = textOf(message);
  return (
    <article className={css['message']} data-role={message.role}>
      <header>
        <span className={css['role']}>{message.role}</span>
        {message.name && <span className={css['name']}>{message.name}</span>}
        {text && <span className={css['copy']}><IconButton small icon={Copy} label="Copy the text" onPress={() => void copy(text, 'Text')} /></span>}
      </header>
      {message.thinking && <details className={css['fold']}><summary>thinking</summary><p className={css['verbatim']}>{message.thinking}</p></details>}
      {message.parts.map((p, i) => <PartView key={i} part={p} />)}
      {message.calls.map((c, i) => <Call key={c.id ?? i} call={c} {...(c.id && results.get(c.id) && { result: results.get(c.id)! })} />)}
      {!message.parts.length && !message.calls.length && !message.thinking && <p className={css['nothing']}>empty</p>}
    </article>
  );
}

function PartView({ part }: { part: Part }) {
  switch (part.type) {
    case 'text': return <Text text={part.text} />;
    case 'image': return <Picture url={part.url} />;
    case 'audio': return <p className={css['nothing']}>audio{part.format && `, ${part.format}`}{part.data && `, ${Math.round(part.data.length * 0.75 / 1024)} KiB`}</p>;
    case 'file': return <p className={css['nothing']}>file {part.name}</p>;
    case 'json': return <JsonView value={part.value} compact />;
  }
}

function Picture({ url }: { url: string }) {
  const own = safeImage(url);
  if (own) return <img className={css['image']} src={own} alt="Sent with the message" />;
  const to = safeLink(url);
  return to ? <p className={css['nothing']}>picture: <a href={to} target="_blank" rel="noreferrer noopener">load in a new tab</a></p> : <p className={css['nothing']}>a picture that cannot be shown</p>;
}

function Text({ text }: { text: string }) {
  const { markdown } = usePrefs();
  const [all, setAll] = useState(false);
  const json = asJson(text);
  if (json !== undefined) return <JsonView value={json} compact />;
  const cut = !all && text.length > LONG;
  const part = cut ? text.slice(0, LONG) : text;
  return (
    <>
      {markdown && !cut ? <Suspense fallback={<p className={css['verbatim']}>{part}</p>}><Markdown text={part} /></Suspense> : <p className={css['verbatim']}>{part}</p>}
      {cut && <button type="button" className={css['more']} onClick={() => setAll(true)}>All {text.length.toLocaleString('en').replaceAll(',', ' ')} characters</button>}
    </>
  );
}

function asJson(text: string): unknown {
  const t = text.trim();
  if (t.length < 2 || t.length > 1_000_000 || !((t.startsWith('{') && t.endsWith('}')) || (t.startsWith('[') && t.endsWith(']')))) return undefined;
  try {
    return JSON.parse(t) as unknown;
  } catch {
    return undefined;
  }
}

function Call({ call, result }: { call: ToolCall; result?: Message }) {
  const line = JSON.stringify(call.arguments) ?? '';
  return (
    <details className={css['call']}>
      <summary><span className={css['tool']}>{call.name}</span> <code>{line.length > 120 ? `${line.slice(0, 120)}…` : line}</code>{result && <span className={css['result']}>→ {textOf(result).slice(0, 120)}</span>}</summary>
      <div className={css['call-body']}>
        <p className={css['role']}>arguments</p>
        <JsonView value={call.arguments} compact />
        {result && <><p className={css['role']}>result</p>{result.parts.map((p, i) => <PartView key={i} part={p} />)}</>}
      </div>
    </details>
  );
}
