import { useState } from 'react';
import { Button } from '../../kit/button/button';
import { Dialog } from '../../kit/dialog/dialog';
import { toast } from '../../kit/toast/toast';
import { client, queries } from '../../shell/session';
import { column, COLUMNS } from './columns';
import css from './page.module.css';

/** SaveDialog keeps the filter and the columns under a name. */
export function SaveDialog({ q, cols, focus, filtering, close }: { q: string; cols: readonly string[]; focus: string; filtering: unknown; close: () => void }) {
  const [name, setName] = useState('');
  const save = async () => {
    const slug = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '');
    try {
      await client.call('POST', '/simple/queries/', { body: { query: { slug, name, data: { ...(filtering ? { filtering } : {}), formatting: { focus: focus === 'traces' ? 'trace' : 'span' } }, meta: { console: { q, cols } } } } });
      await queries.invalidateQueries({ predicate: (query) => query.queryKey[2] === '/simple/queries/query' });
      toast(`Saved as ${name}.`);
      close();
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), { bad: true });
    }
  };
  return (
    <Dialog title="Save this query" onClose={close} actions={<Button look="accent" isDisabled={!/[a-z0-9]/i.test(name)} onPress={() => void save()}>Save</Button>}>
      <label className={css['field']}>Name<input autoFocus value={name} onChange={(e) => setName(e.target.value)} onKeyDown={(e) => { if (e.key === 'Enter' && name.trim()) void save(); }} /></label>
      <p><code>{q || 'no filter'}</code></p>
    </Dialog>
  );
}

/** ColumnsDialog chooses the columns and their order. */
export function ColumnsDialog({ cols, onChange, close }: { cols: readonly string[]; onChange: (cols: readonly string[]) => void; close: () => void }) {
  const [other, setOther] = useState('');
  const all = [...cols.filter((c) => !COLUMNS.some((k) => k.id === c)), ...COLUMNS.map((c) => c.id)];
  const move = (id: string, by: number) => {
    const next = [...cols];
    const at = next.indexOf(id);
    const to = at + by;
    if (at < 0 || to < 0 || to >= next.length) return;
    [next[at], next[to]] = [next[to]!, next[at]!];
    onChange(next);
  };
  return (
    <Dialog title="Columns" onClose={close}>
      <ul className={css['columns']}>
        {[...cols, ...all.filter((id) => !cols.includes(id))].map((id) => {
          const on = cols.includes(id);
          return (
            <li key={id}>
              <label><input type="checkbox" checked={on} onChange={() => onChange(on ? cols.filter((c) => c !== id) : [...cols, id])}
                onKeyDown={(e) => { if (e.altKey && (e.key === 'ArrowUp' || e.key === 'ArrowDown')) { e.preventDefault(); move(id, e.key === 'ArrowUp' ? -1 : 1); } }} /> {column(id).name ?? column(id).title}</label>
              {on && <span><button type="button" aria-label={`${id} earlier`} onClick={() => move(id, -1)}>↑</button><button type="button" aria-label={`${id} later`} onClick={() => move(id, 1)}>↓</button></span>}
            </li>
          );
        })}
      </ul>
      <label className={css['field']}>Another attribute or score
        <input placeholder="attributes.ag.data.inputs.country or score.judge" value={other} onChange={(e) => setOther(e.target.value)} onKeyDown={(e) => {
          if (e.key !== 'Enter' || !/^(?:attributes|score)\../.test(other)) return;
          onChange([...cols, other.trim()]);
          setOther('');
        }} />
      </label>
    </Dialog>
  );
}
