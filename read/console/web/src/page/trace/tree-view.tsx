import { useVirtualizer } from '@tanstack/react-virtual';
import { ChevronDown, ChevronRight } from 'lucide-react';
import { useEffect, useId, useMemo, useRef, type KeyboardEvent } from 'react';
import { SpanType } from '../../kit/value/value';
import { isEditable } from '../../shell/keys';
import { showCost, showDuration } from '../../url/number';
import { nameOf, type Tree } from './tree';
import css from './tree-view.module.css';

interface Props {
  tree: Tree;
  rows: Uint32Array;
  closed: ReadonlySet<number>;
  onClosed: (closed: ReadonlySet<number>) => void;
  current: number;
  onCurrent: (row: number) => void;
  hits: ReadonlySet<number>;
  path: Uint8Array | undefined;
  zoom: readonly [number, number] | null;
  onZoom: (zoom: [number, number] | null) => void;
  wide: boolean;
}

const ROW = 26;
const DEEP = 20;

/** TreeView is the tree of a trace with a bar of time for each span. Rows are virtual. */
export function TreeView({ tree, rows, closed, onClosed, current, onCurrent, hits, path, zoom, onZoom, wide }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 5 });
  const { columns, dictionaries } = tree.outline;
  const [from, to] = zoom ?? [tree.from, tree.to];
  const length = Math.max(1, to - from);
  const at = useMemo(() => Math.max(0, rows.indexOf(current)), [rows, current]);
  const siblings = useMemo(() => positions(tree), [tree]);

  useEffect(() => {
    if (rows.indexOf(current) >= 0) virtual.scrollToIndex(rows.indexOf(current), { align: 'auto' });
    // Only a change of the row moves the list, not one of what is open.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [current]);

  const branch = (row: number) => tree.ends[row]! > row + 1;
  const toggle = (row: number) => {
    const next = new Set(closed);
    if (!next.delete(row)) next.add(row);
    onClosed(next);
  };
  const move = (i: number) => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, i))];
    if (row !== undefined) onCurrent(row);
  };
  const scale = (factor: number, around = (from + to) / 2) => {
    const next = Math.max(1000, length * factor);
    if (next >= tree.to - tree.from) onZoom(null);
    else {
      const left = Math.min(Math.max(tree.from, around - (around - from) * (next / length)), tree.to - next);
      onZoom([left, left + next]);
    }
  };
  const press = (event: KeyboardEvent) => {
    if (isEditable(event.target) || event.metaKey || event.ctrlKey || event.altKey) return;
    const row = rows[at];
    if (row === undefined) return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 300) / ROW) - 3);
    switch (event.key) {
      case 'ArrowDown': case 'j': move(at + 1); break;
      case 'ArrowUp': case 'k': move(at - 1); break;
      case 'PageDown': move(at + page); break;
      case 'PageUp': move(at - page); break;
      case 'Home': move(0); break;
      case 'End': move(rows.length - 1); break;
      case 'ArrowRight': if (branch(row) && closed.has(row)) toggle(row); else move(at + 1); break;
      case 'ArrowLeft': if (branch(row) && !closed.has(row)) toggle(row); else if (tree.parents[row]! >= 0) onCurrent(tree.parents[row]!); break;
      case 'Enter': if (branch(row)) toggle(row); break;
      case '*': {
        const next = new Set(closed);
        for (const other of next) if (tree.parents[other] === tree.parents[row]) next.delete(other);
        onClosed(next);
        break;
      }
      case '+': case '=': scale(0.5); break;
      case '-': scale(2); break;
      case '0': onZoom(null); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const rect = element.querySelector(`.${css['axis']}`)?.getBoundingClientRect();
      const x = rect ? Math.min(1, Math.max(0, (event.clientX - rect.left) / rect.width)) : 0.5;
      scale(event.deltaY > 0 ? 1.25 : 0.8, from + x * length);
    };
    element.addEventListener('wheel', wheel, { passive: false });
    return () => element.removeEventListener('wheel', wheel);
  });

  return (
    <div ref={box} className={css['tree']} data-wide={wide || undefined} role="tree" aria-label="Spans" tabIndex={0} aria-activedescendant={`${id}-${rows[at] ?? 0}`} onKeyDown={press} data-keys>
      <div className={css['head']} role="presentation">
        <span>Span</span>
        <span className={css['axis']} aria-hidden="true">{[0, 0.25, 0.5, 0.75].map((x) => <i key={x} ref={(e) => { if (e) e.style.left = `${x * 100}%`; }}>{x === 0 && from === tree.from ? '0' : showDuration((from - tree.from + x * length) / 1e6)}</i>)}</span>
        <span className={css['right']}>Duration</span>
        <span className={css['right']}>Cost</span>
      </div>
      <div className={css['rows']} role="presentation" ref={(e) => { if (e) e.style.height = `${virtual.getTotalSize()}px`; }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index]!;
          const i = tree.spans[row]!;
          const depth = tree.depths[row]!;
          const start = columns.start_ns[i]!;
          const duration = columns.duration_ns[i]!;
          const type = dictionaries.type[columns.type[i]!] ?? 'unknown';
          const failed = columns.status[i] === 2;
          const model = columns.model[i]! >= 0 ? dictionaries.model[columns.model[i]!] : undefined;
          const parent = tree.parents[row]!;
          const skewed = parent >= 0 && start < columns.start_ns[tree.spans[parent]!]! - 1e6;
          const left = ((start - from) / length) * 100;
          const width = (duration / length) * 100;
          return (
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the tree takes the keys of all its rows
            <div key={row} id={`${id}-${row}`} role="treeitem" aria-level={depth + 1} aria-setsize={siblings.size[row]!} aria-posinset={siblings.at[row]!} aria-selected={row === current} tabIndex={-1}
              {...(branch(row) && { 'aria-expanded': !closed.has(row) })}
              className={css['row']} data-current={row === current || undefined} data-hit={hits.has(row) || undefined} data-path={path?.[row] ? true : undefined} onClick={() => onCurrent(row)}
              ref={(e) => { if (e) e.style.transform = `translateY(${item.start}px)`; }}>
              <span className={css['name']} ref={(e) => { if (e) e.style.paddingLeft = `${8 + Math.min(depth, DEEP) * 14}px`; }}>
                <button type="button" className={css['twist']} tabIndex={-1} aria-hidden="true" onClick={(e) => { e.stopPropagation(); if (branch(row)) toggle(row); }}>
                  {branch(row) && (closed.has(row) ? <ChevronRight size={13} /> : <ChevronDown size={13} />)}
                </button>
                {depth > DEEP && <small>{depth}</small>}
                <SpanType type={type} />
                <b>{nameOf(tree, row)}</b>
                {model && <small>{model}</small>}
                {failed && <em title="error" role="img" aria-label="error">▲</em>}
                {columns.orphan[i] ? <small className={css['warn']} title="Its parent is not stored">orphan</small> : null}
                {skewed && <small className={css['warn']} title="It begins before its parent: clocks differ">skew</small>}
                {columns.annotations[i]! > 0 && <small title="Feedback">★ {columns.annotations[i]}</small>}
                {closed.has(row) && <small className={css['count']}>{tree.ends[row]! - row - 1}</small>}
              </span>
              <span className={css['lane']} aria-hidden="true">
                {left < 100 && left + width > 0 && <span className={css['bar']} data-type={type} data-bad={failed || undefined} ref={(e) => {
                  if (!e) return;
                  const a = Math.max(0, left);
                  e.style.left = `${a}%`;
                  e.style.width = `max(2px, ${Math.min(100, left + width) - a}%)`;
                }} />}
              </span>
              <span className={css['right']}>{showDuration(duration / 1e6)}</span>
              <span className={css['right']} data-dim>{columns.total_cost[i] === null || columns.total_cost[i] === undefined ? '' : showCost(columns.total_cost[i])}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function positions(tree: Tree): { size: Uint32Array; at: Uint32Array } {
  const n = tree.spans.length;
  const seen = new Uint32Array(n + 1);
  const at = new Uint32Array(n);
  for (let row = 0; row < n; row++) at[row] = ++seen[tree.parents[row]! + 1]!;
  const size = new Uint32Array(n);
  for (let row = 0; row < n; row++) size[row] = seen[tree.parents[row]! + 1]!;
  return { size, at };
}
