import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { isEditable } from '../../shell/keys';
import css from './grid.module.css';

export interface GridColumn<R> {
  id: string;
  title: ReactNode;
  /** The title as text, for screen readers and sorting. */
  name: string;
  width: number;
  right?: boolean;
  /** Stays at the left while the others scroll. Frozen columns come first. */
  frozen?: boolean;
  /** Columns with the same group stand below one heading. */
  group?: string;
  sortable?: boolean;
  cell: (row: R) => ReactNode;
}

export interface Spot { row: number; column: number }

interface Props<R> {
  label: string;
  rows: readonly R[];
  columns: readonly GridColumn<R>[];
  rowKey: (row: R) => string;
  at: Spot;
  onAt: (at: Spot) => void;
  onOpen?: (row: R, event: { shift: boolean }) => void;
  sort?: { by: string; descending: boolean } | undefined;
  onSort?: (by: string) => void;
  onKey?: (event: KeyboardEvent, row: R) => void;
  onGroup?: (group: string) => void;
  marked?: ReadonlySet<string>;
  dimmed?: boolean;
}

const HEAD = 30;
const ROW = 30;

/** Grid shows many rows and many columns and keeps only the visible cells in the page. One cell has the focus; the keys are those of a spreadsheet. */
export function Grid<R>({ label, rows, columns, rowKey, at, onAt, onOpen, sort, onSort, onKey, onGroup, marked, dimmed }: Props<R>) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const narrow = useNarrow(box);
  // On a phone frozen columns would leave no room for the others.
  const frozen = useMemo(() => columns.filter((c) => c.frozen).slice(0, narrow ? 1 : undefined), [columns, narrow]);
  const moving = useMemo(() => columns.filter((c) => !frozen.includes(c)), [columns, frozen]);
  const grouped = moving.some((c) => c.group);
  const head = grouped ? HEAD * 2 : HEAD;
  const left = useMemo(() => frozen.reduce((sum, c) => sum + c.width, 0), [frozen]);
  const down = useVirtualizer({ count: rows.length, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 4, scrollPaddingStart: head, scrollPaddingEnd: 8 });
  const across = useVirtualizer({ count: moving.length, horizontal: true, getScrollElement: () => box.current, estimateSize: (i) => moving[i]!.width, overscan: 1, scrollPaddingStart: left, scrollPaddingEnd: 8 });
  useEffect(() => across.measure(), [moving, across]);
  const width = left + across.getTotalSize();
  const row = Math.min(at.row, Math.max(0, rows.length - 1));
  const column = Math.min(at.column, Math.max(0, columns.length - 1));
  useLayoutEffect(() => {
    box.current?.style.setProperty('--left', `${left}px`);
    box.current?.style.setProperty('--width', `${width}px`);
  }, [left, width]);

  const to = useCallback((nextRow: number, nextColumn: number) => {
    const r = Math.min(rows.length - 1, Math.max(0, nextRow));
    const c = Math.min(columns.length - 1, Math.max(0, nextColumn));
    onAt({ row: r, column: c });
    down.scrollToIndex(r, { align: 'auto' });
    if (c >= frozen.length) across.scrollToIndex(c - frozen.length, { align: 'auto' });
  }, [rows.length, columns.length, frozen.length, onAt, down, across]);

  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    if (isEditable(event.target) || event.altKey) return;
    const ends = event.ctrlKey || event.metaKey;
    const page = Math.max(1, Math.floor(((box.current?.clientHeight ?? 300) - head) / ROW) - 1);
    const here = rows[row];
    switch (event.key) {
      case 'ArrowDown': to(ends ? rows.length - 1 : row + 1, column); break;
      case 'ArrowUp': to(ends ? 0 : row - 1, column); break;
      case 'ArrowRight': to(row, ends ? columns.length - 1 : column + 1); break;
      case 'ArrowLeft': to(row, ends ? 0 : column - 1); break;
      case 'j': if (ends) return; to(row + 1, column); break;
      case 'k': if (ends) return; to(row - 1, column); break;
      case 'l': if (ends) return; to(row, column + 1); break;
      case 'h': if (ends) return; to(row, column - 1); break;
      case 'Home': to(ends ? 0 : row, 0); break;
      case 'End': to(ends ? rows.length - 1 : row, columns.length - 1); break;
      case 'PageDown': to(row + page, column); break;
      case 'PageUp': to(row - page, column); break;
      case 'Enter': if (here !== undefined) onOpen?.(here, { shift: event.shiftKey }); break;
      case 's': if (ends || !columns[column]?.sortable || !onSort) return; onSort(columns[column].id); break;
      default:
        if (here !== undefined && !ends) onKey?.(event, here);
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  const visible = across.getVirtualItems();
  const shownRows = down.getVirtualItems();
  const focused = shownRows.some((item) => item.index === row) && rows.length > 0;
  const title = (c: GridColumn<R>, index: number, style: (e: HTMLElement | null) => void) => {
    const sorted = sort?.by === c.id ? (sort.descending ? 'descending' : 'ascending') : undefined;
    return (
      <span key={c.id} role="columnheader" aria-colindex={index + 1} aria-sort={sorted ?? 'none'} className={css['cell']} data-right={c.right || undefined} data-frozen={frozen.includes(c) || undefined} ref={style} title={c.name}>
        {c.sortable && onSort ? <button type="button" tabIndex={-1} onClick={() => onSort(c.id)}>{c.title}{sorted && <i aria-hidden="true">{sorted === 'descending' ? '↓' : '↑'}</i>}</button> : c.title}
      </span>
    );
  };
  const place = (start: number, size: number) => (e: HTMLElement | null) => {
    if (!e) return;
    e.style.left = `${left + start}px`;
    e.style.width = `${size}px`;
  };
  const stick = (i: number) => (e: HTMLElement | null) => {
    if (!e) return;
    e.style.left = `${frozen.slice(0, i).reduce((sum, c) => sum + c.width, 0)}px`;
    e.style.width = `${frozen[i]!.width}px`;
  };

  return (
    <div className={css['grid']} data-dimmed={dimmed || undefined}>
      <div ref={box} className={css['box']} role="grid" aria-label={label} aria-rowcount={rows.length + 1} aria-colcount={columns.length} tabIndex={0} data-keys onKeyDown={press}
        {...(focused && { 'aria-activedescendant': `${id}-${row}-${column}` })}>
        <div className={css['head']} data-tall={grouped || undefined} role="rowgroup">
          {grouped && <div className={css['line']} role="presentation">
            {groupsOf(moving, visible).map((g) => (
              <span key={g.name + g.start} className={css['group']} ref={place(g.start, g.size)}>
                {onGroup && g.name ? <button type="button" tabIndex={-1} onClick={() => onGroup(g.name)}>{g.name}</button> : g.name}
              </span>
            ))}
          </div>}
          <div className={css['line']} role="row" aria-rowindex={1}>
            {frozen.map((c, i) => title(c, i, stick(i)))}
            {visible.map((item) => title(moving[item.index]!, frozen.length + item.index, place(item.start, item.size)))}
          </div>
        </div>
        <div className={css['rows']} role="rowgroup" ref={(e) => { if (e) e.style.height = `${down.getTotalSize()}px`; }}>
          {shownRows.map((line) => {
            const one = rows[line.index]!;
            const cell = (c: GridColumn<R>, index: number, style: (e: HTMLElement | null) => void) => (
              // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the grid takes the keys of all its cells
              <span key={c.id} id={`${id}-${line.index}-${index}`} role="gridcell" aria-colindex={index + 1} tabIndex={-1} className={css['cell']} ref={style} data-right={c.right || undefined} data-frozen={frozen.includes(c) || undefined}
                data-at={(line.index === row && index === column) || undefined} aria-selected={line.index === row && index === column}
                onClick={(event) => {
                  if (event.target instanceof Element && event.target.closest('a,button,input')) return;
                  if (String(getSelection() ?? '')) return; // text is being marked
                  to(line.index, index);
                  onOpen?.(one, { shift: event.shiftKey });
                }}>{c.cell(one)}</span>
            );
            return (
              <div key={rowKey(one)} role="row" aria-rowindex={line.index + 2} className={css['row']} data-current={line.index === row || undefined} data-marked={marked?.has(rowKey(one)) || undefined}
                ref={(e) => { if (e) e.style.transform = `translateY(${line.start}px)`; }}>
                {frozen.map((c, i) => cell(c, i, stick(i)))}
                {visible.map((item) => cell(moving[item.index]!, frozen.length + item.index, place(item.start, item.size)))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function useNarrow(box: React.RefObject<HTMLDivElement | null>): boolean {
  const [narrow, setNarrow] = useState(false);
  useLayoutEffect(() => {
    if (!box.current) return;
    const observer = new ResizeObserver(([entry]) => setNarrow((entry?.contentRect.width ?? 1000) < 560));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [box]);
  return narrow;
}

/** groupsOf joins neighbouring columns of one group into one heading. */
function groupsOf<R>(columns: readonly GridColumn<R>[], visible: readonly { index: number; start: number; size: number }[]) {
  const found: { name: string; start: number; size: number }[] = [];
  for (const item of visible) {
    const name = columns[item.index]!.group ?? '';
    const last = found.at(-1);
    if (last && last.name === name) last.size += item.size;
    else found.push({ name, start: item.start, size: item.size });
  }
  return found;
}
