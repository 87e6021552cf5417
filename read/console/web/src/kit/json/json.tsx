import { useVirtualizer } from '@tanstack/react-virtual';
import { ChevronDown, ChevronRight, Search } from 'lucide-react';
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { closedBelow, CUT, find, indexJson, kindOf, pathOf, showPath, valueAt, visible } from '../../worker/json';
import { copy } from '../toast/toast';
import { Menu } from '../menu/menu';
import { MoreHorizontal } from 'lucide-react';
import { isEditable } from '../../shell/keys';
import css from './json.module.css';

interface Props { value: unknown; compact?: boolean; /** Offers a filter by the path below this one. */ onFilter?: (path: (string | number)[], value: unknown) => void; label?: string }

const ROW = 20;

/** JsonView shows any value as a tree of virtual rows. */
export function JsonView({ value, compact, onFilter, label = 'Value' }: Props) {
  const rows = useMemo(() => indexJson(value), [value]);
  const [closed, setClosed] = useState<ReadonlySet<number>>(() => closedBelow(rows, compact ? 3 : 4));
  const [needle, setNeedle] = useState('');
  const [hit, setHit] = useState(0);
  const [current, setCurrent] = useState(0);
  const [full, setFull] = useState<ReadonlySet<number>>(new Set());
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    setClosed(closedBelow(rows, compact ? 3 : 4));
    setCurrent(rows.kinds[0]! < 2 && rows.sizes[0]! > 0 ? 1 : 0);
    setFull(new Set());
  }, [rows, compact]);

  // An object or list at the top is what everything else stands in: it needs no row.
  const bare = rows.kinds[0]! < 2 && rows.sizes[0]! > 0 ? 1 : 0;
  const list = useMemo(() => visible(rows, closed).subarray(bare), [rows, closed, bare]);
  const hits = useMemo(() => find(rows, needle), [rows, needle]);
  const marked = useMemo(() => new Set(hits), [hits]);
  const virtual = useVirtualizer({ count: list.length, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 10 });

  const reveal = (row: number) => {
    const next = new Set(closed);
    for (let r = rows.parents[row]!; r >= 0; r = rows.parents[r]!) next.delete(r);
    setClosed(next);
    setCurrent(row);
    const at = visible(rows, next).indexOf(row) - bare;
    requestAnimationFrame(() => virtual.scrollToIndex(at, { align: 'center' }));
  };
  const toggle = (row: number) => {
    const next = new Set(closed);
    if (!next.delete(row)) next.add(row);
    setClosed(next);
  };
  const at = Math.max(0, list.indexOf(current));
  const press = (event: KeyboardEvent) => {
    if (isEditable(event.target)) return;
    const row = list[at]!;
    const branch = rows.kinds[row]! < 2 && rows.sizes[row]! > 0;
    const to = (i: number) => {
      const next = Math.min(list.length - 1, Math.max(0, i));
      setCurrent(list[next]!);
      virtual.scrollToIndex(next);
    };
    switch (event.key) {
      case 'ArrowDown': to(at + 1); break;
      case 'ArrowUp': to(at - 1); break;
      case 'Home': to(0); break;
      case 'End': to(list.length - 1); break;
      case 'ArrowRight': if (branch && closed.has(row)) toggle(row); else to(at + 1); break;
      case 'ArrowLeft': if (branch && !closed.has(row)) toggle(row); else if (rows.parents[row]! >= bare) to(list.indexOf(rows.parents[row]!)); break;
      case 'Enter': if (branch) toggle(row); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  const height = Math.min(list.length * ROW + 8, compact ? 320 : 100_000);
  return (
    <div className={css['json']} data-compact={compact || undefined}>
      {!compact && rows.keys.length > 8 && (
        <div className={css['tools']}>
          <Search size={13} aria-hidden />
          <input aria-label="Find in this value" placeholder="Find" value={needle} onChange={(e) => { setNeedle(e.target.value); setHit(0); }} onKeyDown={(e) => {
            if (e.key !== 'Enter' || !hits.length) return;
            const next = (hit + (e.shiftKey ? hits.length - 1 : needle && hit === 0 && current !== hits[0] ? 0 : 1)) % hits.length;
            setHit(next);
            reveal(hits[next]!);
          }} />
          {needle && <span role="status">{hits.length ? `${hit + 1}/${hits.length}` : 'nothing'}</span>}
          <span className={css['levels']} role="group" aria-label="Open levels">
            {[1, 2, 3].map((level) => <button key={level} type="button" onClick={() => setClosed(closedBelow(rows, level))}>{level}</button>)}
            <button type="button" onClick={() => setClosed(new Set())}>all</button>
          </span>
          <button type="button" onClick={() => void copy(JSON.stringify(value, null, 2) ?? 'null', 'Value')}>copy</button>
        </div>
      )}
      <div ref={box} className={css['box']} role="tree" aria-label={label} tabIndex={0} aria-activedescendant={`${id}-${list[at] ?? 0}`} onKeyDown={press} data-keys>
        <div className={css['size']} ref={(e) => { if (e) { e.style.height = `${virtual.getTotalSize()}px`; if (box.current) box.current.style.height = compact ? `${height}px` : ''; } }}>
          {virtual.getVirtualItems().map((item) => {
            const row = list[item.index]!;
            const kind = kindOf(rows, row);
            const branch = rows.kinds[row]! < 2;
            const shut = closed.has(row);
            const key = rows.keys[row];
            const text = full.has(row) ? String(valueAt(value, pathOf(rows, row))) : rows.texts[row]!;
            return (
              // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the tree takes the keys of all its rows
              <div key={row} id={`${id}-${row}`} role="treeitem" aria-level={rows.depths[row]! + 1 - bare} aria-selected={row === current} {...(branch && { 'aria-expanded': !shut })} tabIndex={-1} data-index={item.index}
                className={css['row']} data-current={row === current || undefined} data-hit={marked.has(row) || undefined} onClick={() => { setCurrent(row); if (branch && rows.sizes[row]) toggle(row); }}
                ref={(e) => { if (e) { virtual.measureElement(e); e.style.transform = `translateY(${item.start}px)`; e.style.paddingLeft = `${6 + Math.min(rows.depths[row]! - bare, 24) * 14}px`; } }}>
                <span className={css['twist']} aria-hidden="true">{branch && rows.sizes[row]! > 0 ? (shut ? <ChevronRight size={12} /> : <ChevronDown size={12} />) : null}</span>
                {key !== null && key !== undefined && <span className={typeof key === 'number' ? css['index'] : css['key']}>{key}<i>:</i></span>}
                {branch
                  ? <span className={css['dim']}>{kind === 'array' ? `[${rows.sizes[row]}]` : rows.sizes[row] ? (shut ? `{${rows.sizes[row]}}` : '') : '{}'}</span>
                  : <span className={css['value']} data-kind={kind}>{text}{rows.sizes[row]! > CUT && !full.has(row) && <button type="button" onClick={(e) => { e.stopPropagation(); setFull(new Set([...full, row])); }}> … all {rows.sizes[row]}</button>}</span>}
                {row === current && !compact && (
                  <span className={css['menu']}><Menu small icon={MoreHorizontal} label="With this value" items={[
                    { id: 'value', text: 'Copy value', run: () => { const v = valueAt(value, pathOf(rows, row)); void copy(typeof v === 'string' ? v : JSON.stringify(v, null, 2), 'Value'); } },
                    { id: 'path', text: 'Copy path', run: () => void copy(showPath(pathOf(rows, row)), 'Path') },
                    ...(onFilter && !branch ? [{ id: 'filter', text: 'Only traces with this', run: () => onFilter(pathOf(rows, row), valueAt(value, pathOf(rows, row))) }] : []),
                  ]} /></span>
                )}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
