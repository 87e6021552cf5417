import { Search } from 'lucide-react';
import { useMemo, useState } from 'react';
import { Dialog as AriaDialog, Modal, ModalOverlay } from 'react-aria-components';
import { address, go } from '../../shell/place';
import { useApi } from '../../shell/session';
import { PAGES } from '../../shell/pages';
import css from './palette.module.css';

interface Entry { text: string; about: string; to: string }

interface Saved { queries?: { id: string; name?: string; slug?: string; meta?: { console?: { q?: string } } }[] }

/** Palette goes anywhere: pages, saved queries, and a trace or span by its id. */
export default function Palette({ close }: { close: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const saved = useApi<Saved>('POST', '/simple/queries/query', { body: {} });
  const entries = useMemo<Entry[]>(() => {
    const t = text.trim().toLowerCase();
    const found: Entry[] = [];
    const id = t.replaceAll('-', '').replace(/^0x/, '');
    if (/^[0-9a-f]{32}$/.test(id)) found.push({ text: `Trace ${id}`, about: 'open', to: address(`/traces/${id}`) });
    if (/^[0-9a-f]{16}$/.test(id)) found.push({ text: `Span ${id}`, about: 'find', to: address('/traces', `focus=spans&q=span:${id}`) });
    const list: Entry[] = [
      ...PAGES.map((p) => ({ text: p.title, about: `g ${p.key}`, to: address(p.path) })),
      ...(saved.data?.queries ?? []).filter((q) => q.meta?.console?.q !== undefined).map((q) => ({ text: q.name ?? q.slug ?? q.id, about: 'saved query', to: address('/traces', `q=${encodeURIComponent(q.meta!.console!.q!)}`) })),
    ];
    found.push(...list.filter((e) => e.text.toLowerCase().includes(t)));
    if (t && found.length < 12) found.push({ text: `Search all spans for “${text.trim()}”`, about: 'content', to: address('/traces', `focus=spans&q=${encodeURIComponent(/\s/.test(text.trim()) ? `"${text.trim()}"` : text.trim())}`) });
    return found.slice(0, 12);
  }, [text, saved.data]);
  const open = (entry: Entry | undefined) => {
    if (!entry) return;
    close();
    go(entry.to);
  };
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={(o) => { if (!o) close(); }} className={css['overlay']!}>
      <Modal className={css['modal']!}>
        <AriaDialog aria-label="Go to" className={css['palette']!}>
          <div className={css['line']}>
            <Search size={16} aria-hidden />
            <input autoFocus role="combobox" aria-expanded aria-controls="palette-list" aria-label="Go to a page, a saved query, or an id" placeholder="A page, a saved query, the id of a trace or span" value={text}
              {...(entries[at] && { 'aria-activedescendant': `palette-${at}` })} onChange={(e) => { setText(e.target.value); setAt(0); }}
              onKeyDown={(e) => {
                if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
                  e.preventDefault();
                  setAt((a) => (a + (e.key === 'ArrowDown' ? 1 : entries.length - 1)) % Math.max(1, entries.length));
                } else if (e.key === 'Enter') open(entries[at]);
              }} />
          </div>
          <ul id="palette-list" role="listbox" aria-label="Where to">
            {entries.map((e, i) => (
              // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the field has the keys of its list
              <li key={e.to + e.text} id={`palette-${i}`} role="option" aria-selected={i === at} onMouseMove={() => setAt(i)} onClick={() => open(e)}><span>{e.text}</span><small>{e.about}</small></li>
            ))}
          </ul>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
