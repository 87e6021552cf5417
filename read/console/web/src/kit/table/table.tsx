import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type MouseEvent, type ReactNode } from 'react';
import { isEditable } from '../../shell/keys';
import css from './table.module.css';

export interface Column<R> {
  id: string;
  title: ReactNode;
  name?: string;
  width: number;
  /** Takes what is left of the width. */
  grow?: boolean;
  right?: boolean;
  mono?: boolean;
  /** Falls away below 900 px. */
  minor?: boolean;
  cell: (row: R) => ReactNode;
  sort?: 'server' | 'loaded';
}

interface Props<R> {
  label: string;
  rows: readonly R[];
  columns: readonly Column<R>[];
  rowKey: (row: R) => string;
  current?: string | undefined;
  onCurrent?: (key: string, row: R) => void;
  onOpen?: (row: R, event: { newTab: boolean }) => void;
  selected?: ReadonlySet<string>;
  onSelect?: (keys: ReadonlySet<string>) => void;
  sort?: { by: string; descending: boolean };
  onSort?: (by: string) => void;
  widths?: Readonly<Record<string, number>>;
  onWidths?: (widths: Record<string, number>) => void;
  onEnd?: () => void;
  total?: number;
  dimmed?: boolean;
  footer?: ReactNode;
  onKey?: (event: KeyboardEvent, row: R) => void;
  rowClass?: (row: R) => 'bad' | 'new' | undefined;
}

/** Table is a grid whose rows are virtual. One row at a time is reached by Tab; arrows move on. */
export function Table<R>({ label, rows, columns: all, rowKey, current, onCurrent, onOpen, selected, onSelect, sort, onSort, widths = {}, onWidths, onEnd, total, dimmed, footer, onKey, rowClass }: Props<R>) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const height = useRowHeight();
  const narrow = useNarrow(box);
  const columns = useMemo(() => (narrow ? all.filter((c) => !c.minor) : all), [all, narrow]);
  const anchor = useRef<number>(0);
  const keys = useMemo(() => rows.map(rowKey), [rows, rowKey]);
  const at = Math.max(0, current === undefined ? 0 : keys.indexOf(current));
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => box.current, estimateSize: () => height, overscan: 3 });
  useEffect(() => virtual.measure(), [height, virtual]);

  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const end = useRef(onEnd);
  end.current = onEnd;
  useEffect(() => {
    if (rows.length && last >= rows.length - 20) end.current?.();
  }, [last, rows.length]);

  const template = useMemo(() => (onSelect ? '32px ' : '') + columns.map((c) => {
    const width = widths[c.id] ?? c.width;
    return c.grow && widths[c.id] === undefined ? `minmax(${width}px, 1fr)` : `${width}px`;
  }).join(' '), [columns, widths, onSelect]);
  const least = columns.reduce((sum, c) => sum + (widths[c.id] ?? c.width), onSelect ? 32 : 0);
  useLayoutEffect(() => {
    // Of one width for all rows, or each would share out what is left by its own content.
    box.current?.style.setProperty('--columns', template);
    box.current?.style.setProperty('--least', `${least}px`);
  }, [template, least]);

  const to = useCallback((index: number) => {
    const next = Math.min(rows.length - 1, Math.max(0, index));
    const row = rows[next];
    if (row === undefined) return;
    onCurrent?.(keys[next]!, row);
    virtual.scrollToIndex(next, { align: 'auto' });
  }, [rows, keys, onCurrent, virtual]);

  const toggle = useCallback((index: number, range: boolean) => {
    if (!onSelect || !selected) return;
    const next = new Set(selected);
    if (range) for (let i = Math.min(anchor.current, index); i <= Math.max(anchor.current, index); i++) next.add(keys[i]!);
    else if (next.has(keys[index]!)) next.delete(keys[index]!);
    else next.add(keys[index]!);
    if (!range) anchor.current = index;
    onSelect(next);
  }, [keys, onSelect, selected]);

  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    if (isEditable(event.target) || event.metaKey || event.ctrlKey || event.altKey) return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 300) / height) - 2);
    const moves: Record<string, number> = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: rows.length - 1 };
    const row = rows[at];
    if (event.key in moves) {
      if (event.shiftKey && onSelect) {
        const next = Math.min(rows.length - 1, Math.max(0, moves[event.key]!));
        toggle(next, true);
      }
      to(moves[event.key]!);
    } else if (row === undefined) return;
    else if (event.key === 'Enter') onOpen?.(row, { newTab: false });
    else if (event.key === 'o') onOpen?.(row, { newTab: true });
    else if (event.key === 'x') toggle(at, false);
    else {
      onKey?.(event, row);
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  const click = (event: MouseEvent, index: number, row: R) => {
    if (event.target instanceof Element && event.target.closest('a,button,input')) return;
    if (String(getSelection() ?? '')) return; // somebody marks text
    to(index);
    if (event.shiftKey && onSelect) toggle(index, true);
    else onOpen?.(row, { newTab: event.metaKey || event.ctrlKey });
  };

  return (
    <div className={css['table']} data-dimmed={dimmed || undefined}>
      <div
        ref={box} className={css['box']} role="grid" aria-label={label} aria-rowcount={(total ?? rows.length) + 1} aria-colcount={columns.length + (onSelect ? 1 : 0)}
        aria-multiselectable={onSelect ? true : undefined} tabIndex={0} data-keys onKeyDown={press} {...(rows.length > 0 && { 'aria-activedescendant': `${id}-${at}` })}
      >
        <div className={css['head']} role="row" aria-rowindex={1}>
          {onSelect && (
            <span role="columnheader" className={css['check']}>
              <input type="checkbox" aria-label="Select all that are loaded" tabIndex={-1} checked={rows.length > 0 && selected?.size === rows.length}
                onChange={(event) => onSelect(event.target.checked ? new Set(keys) : new Set())} />
            </span>
          )}
          {columns.map((c) => (
            <Head key={c.id} column={c} sorted={sort?.by === c.id ? (sort.descending ? 'descending' : 'ascending') : undefined}
              {...(c.sort && onSort && { onSort: () => onSort(c.id) })} {...(onWidths && { onWidth: (w: number) => onWidths({ ...widths, [c.id]: w }) })} />
          ))}
        </div>
        <div className={css['rows']} role="rowgroup" ref={(e) => { if (e) e.style.height = `${virtual.getTotalSize()}px`; }}>
          {items.map((item) => {
            const row = rows[item.index]!;
            const key = keys[item.index]!;
            const chosen = selected?.has(key);
            return (
              // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the grid takes the keys of all its rows
              <div
                key={key} id={`${id}-${item.index}`} role="row" aria-rowindex={item.index + 2} aria-selected={onSelect ? Boolean(chosen) : item.index === at} tabIndex={-1}
                className={css['row']} data-current={item.index === at || undefined} data-look={rowClass?.(row)} onClick={(event) => click(event, item.index, row)}
                ref={(e) => { if (e) e.style.transform = `translateY(${item.start}px)`; }}
              >
                {onSelect && (
                  <span role="gridcell" className={css['check']}>
                    <input type="checkbox" aria-label="Select" tabIndex={-1} checked={Boolean(chosen)} onChange={() => undefined} onClick={(event) => toggle(item.index, event.shiftKey)} />
                  </span>
                )}
                {columns.map((c) => (
                  <span key={c.id} role="gridcell" className={css['cell']} data-right={c.right || undefined} data-mono={c.mono || undefined}>{c.cell(row)}</span>
                ))}
              </div>
            );
          })}
        </div>
        {footer && <div className={css['footer']}>{footer}</div>}
      </div>
    </div>
  );
}

function Head<R>({ column, sorted, onSort, onWidth }: { column: Column<R>; sorted: 'ascending' | 'descending' | undefined; onSort?: () => void; onWidth?: (w: number) => void }) {
  const cell = useRef<HTMLSpanElement>(null);
  const name = column.name ?? (typeof column.title === 'string' ? column.title : column.id);
  const drag = (event: React.PointerEvent<HTMLButtonElement>) => {
    if (!cell.current || !onWidth) return;
    event.preventDefault();
    const handle = event.currentTarget;
    const from = event.clientX;
    const width = cell.current.getBoundingClientRect().width;
    handle.setPointerCapture(event.pointerId);
    let next = width;
    handle.onpointermove = (move) => { next = Math.max(40, Math.round(width + move.clientX - from)); };
    handle.onpointerup = () => {
      handle.onpointermove = null;
      handle.onpointerup = null;
      if (next !== width) onWidth(next);
    };
  };
  return (
    <span ref={cell} role="columnheader" aria-sort={sorted ?? 'none'} className={css['cell']} data-right={column.right || undefined}>
      {onSort ? <button type="button" tabIndex={-1} onClick={onSort} title={column.sort === 'loaded' ? 'Sorts the rows that are loaded' : undefined}>{column.title}{sorted && <i aria-hidden="true">{sorted === 'descending' ? '↓' : '↑'}</i>}</button> : column.title}
      {onWidth && (
        <button type="button" className={css['handle']} tabIndex={-1} aria-label={`Width of ${name}`} onPointerDown={drag}
          onKeyDown={(event) => {
            const step = event.key === 'ArrowRight' ? 16 : event.key === 'ArrowLeft' ? -16 : 0;
            if (!step || !cell.current) return;
            event.preventDefault();
            event.stopPropagation();
            onWidth(Math.max(40, Math.round(cell.current.getBoundingClientRect().width + step)));
          }} />
      )}
    </span>
  );
}

function useNarrow(box: React.RefObject<HTMLDivElement | null>): boolean {
  const [narrow, setNarrow] = useState(false);
  useLayoutEffect(() => {
    if (!box.current) return;
    const observer = new ResizeObserver(([entry]) => setNarrow((entry?.contentRect.width ?? 1000) < 720));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [box]);
  return narrow;
}

function useRowHeight(): number {
  const { density } = document.documentElement.dataset;
  return density === 'dense' ? 24 : density === 'wide' ? 32 : 28;
}
