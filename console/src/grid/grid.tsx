/** The grid: only the rows in sight are on the page. */
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { density } from '../density';
import { keep, kept } from '../kept';
import { useShortcuts } from '../keys';
import type { AnyRecord, Column, Kind } from '../kinds/kind';
import { narrow, touch } from '../narrow';
import { go, href } from '../route';
import { Icon, Time } from '../ui/basic';
import { Sizer } from '../ui/sizer';
import { StatusMark } from '../ui/status';
import { useVirtual } from '../ui/virtual';
import { PAGE, type Rows } from './rows';
import { select, toggle, type Selection } from './selection';
import { current, show, type View } from './view';

const ROW = { regular: 40, compact: 32 };
const ROW_TOUCH = 56;
const HEAD = 36;

interface Props<R extends AnyRecord> {
  rows: Rows<R>;
  view: View;
  columns: readonly Column<R>[];
  selection: Selection<R>;
  selectable: boolean;
}

/** Columns with the widths that somebody chose, and the places of pinned ones; `dragged`: of the one that is being changed. */
function sized<R extends AnyRecord>(columns: readonly Column<R>[], view: View, start: number, dragged: Dragged | null): Sized<R>[] {
  let left = start;
  return columns.map((column) => {
    const width = dragged?.key === column.key ? dragged.width : (view.widths[column.key] ?? column.width);
    const isPinned = view.pinned.includes(column.key) && !narrow.value;
    const at = { ...column, width, left: isPinned ? left : null };
    if (isPinned) left += width;
    return at;
  });
}

interface Dragged {
  key: string;
  width: number;
}

type Sized<R> = Column<R> & { left: number | null };
const NARROWEST = 60;
const WIDEST = 1200;

export function Grid<R extends AnyRecord>({ rows, view, columns: chosen, selection, selectable }: Props<R>) {
  const [dragged, setDragged] = useState<Dragged | null>(null);
  const columns = sized(chosen, view, selectable ? 40 : 16, dragged);
  const list = useRef<HTMLDivElement>(null);
  const height = narrow.value || touch.value ? ROW_TOUCH : ROW[density.value];
  const head = narrow.value ? 0 : HEAD;
  const waiting = rows.hasMore || !rows.isStarted ? PAGE : 0;
  const virtual = useVirtual(list, { count: rows.data.length + waiting, height, head, from: kept('scroll grid') });
  const drawn = virtual.getVirtualItems();
  const last = drawn.at(-1)?.index ?? 0;
  useEffect(() => {
    if (rows.hasMore && last + PAGE > rows.data.length) rows.more();
  }, [rows.data.length, rows.hasMore, last]);
  useKeptPosition(rows, selection, list);
  useGridKeys(rows, selection, selectable, () => virtual.scrollToIndex(selection.at.value));
  const tracks = [selectable ? '40px' : '16px', ...columns.map((each, n) => (n === columns.length - 1 ? `minmax(${each.width}px, 1fr)` : `${each.width}px`))].join(' ');
  const width = 40 + columns.reduce((sum, each) => sum + each.width, 0);
  const { total } = rows;
  const shape = { kind: rows.kind, tracks, columns, selection, selectable };
  return (
    <div
      ref={list}
      id="grid"
      data-scrolls
      class={`grid ${narrow.value ? 'narrow' : ''}`}
      role="grid"
      aria-label={rows.kind.title}
      aria-rowcount={total?.exact ? total.count + 1 : -1}
      aria-colcount={columns.length + 1}
      aria-multiselectable={selectable}
      aria-busy={!rows.isStarted}
      tabIndex={0}
      aria-activedescendant={selection.at.value >= 0 ? `row-${selection.at.value}` : undefined}
    >
      <div class="grid-width" role="presentation" style={{ minWidth: narrow.value ? '0' : `${width}px` }}>
        <Head view={view} rows={rows} onSize={setDragged} {...shape} />
        <div class="grid-rows" role="rowgroup" style={{ height: `${virtual.getTotalSize()}px` }}>
          {drawn.map(({ index, start }) => (
            <Row key={index} index={index} record={rows.data[index]} top={start - head} height={height} {...shape} />
          ))}
        </div>
      </div>
    </div>
  );
}

interface Shape<R extends AnyRecord> {
  kind: Kind<R>;
  tracks: string;
  columns: readonly Sized<R>[];
  selection: Selection<R>;
  selectable: boolean;
}

function Head<R extends AnyRecord>({ kind, view, rows, tracks, columns, selection, selectable, onSize }: Shape<R> & { view: View; rows: Rows<R>; onSize: (dragged: Dragged | null) => void }) {
  const field = view.sort.replace(/^-/, '');
  const down = view.sort.startsWith('-');
  const loaded = rows.loaded();
  const all = selection.all.value || (loaded.length > 0 && loaded.every((each) => selection.records.value.has(each.id)));
  function sort(column: Column<R>) {
    if (!column.sort) return;
    const next = field !== column.sort ? `${column.down ? '-' : ''}${column.sort}` : down ? column.sort : `-${column.sort}`;
    show(kind, { ...current(kind), sort: next });
  }
  return (
    <div class="grid-head" role="rowgroup">
      <div role="row" aria-rowindex={1} class="row" style={{ gridTemplateColumns: tracks }}>
        <div role="columnheader" class="cell pick">
          {selectable && (
            <input
              type="checkbox"
              tabIndex={-1}
              checked={all}
              aria-label="Select all loaded rows"
              onChange={() => select(selection, all ? [] : loaded)}
            />
          )}
        </div>
        {columns.map((each) => (
          <div key={each.key} role="columnheader" class={classOf(each)} style={placeOf(each)} aria-sort={each.sort && field === each.sort ? (down ? 'descending' : 'ascending') : undefined}>
            {each.sort ? (
              <button type="button" class="sort" onClick={() => sort(each)}>
                <span class="cut">{each.name}</span>
                {field === each.sort && <Icon name={down ? 'desc' : 'asc'} />}
              </button>
            ) : (
              <span class="cut">{each.name}</span>
            )}
            <ColumnSizer kind={kind} column={each} onSize={onSize} />
          </div>
        ))}
      </div>
    </div>
  );
}

function classOf<R>({ number, left }: Sized<R>): string {
  return `cell ${number ? 'number' : ''} ${left === null ? '' : 'pinned'}`;
}

function placeOf<R>({ left }: Sized<R>): { left: string } | undefined {
  return left === null ? undefined : { left: `${left}px` };
}

/** The right edge of a column's head. */
function ColumnSizer<R extends AnyRecord>({ kind, column, onSize }: { kind: Kind<R>; column: Sized<R>; onSize: (dragged: Dragged | null) => void }) {
  function keep(width: number | null) {
    const now = current(kind);
    onSize(null);
    if (width !== null) show(kind, { ...now, widths: { ...now.widths, [column.key]: width } }, true);
  }
  return <Sizer label={`Width of ${column.name}`} width={column.width} min={NARROWEST} max={WIDEST} onMove={(width) => onSize({ key: column.key, width })} onEnd={keep} />;
}

interface RowProps<R extends AnyRecord> extends Shape<R> {
  index: number;
  record: R | undefined;
  top: number;
  height: number;
}

function Row<R extends AnyRecord>({ kind, index, record, top, height, tracks, columns, selection, selectable }: RowProps<R>) {
  const style = { transform: `translateY(${top}px)`, height: `${height}px`, gridTemplateColumns: narrow.value ? undefined : tracks };
  if (!record) {
    return (
      <div class="row waiting" role="row" aria-rowindex={index + 2} style={style}>
        <div role="gridcell" class="cell pick" />
        {(narrow.value ? columns.slice(0, 1) : columns).map((each) => (
          <div key={each.key} role="gridcell" class="cell">
            <span class="bar" />
          </div>
        ))}
      </div>
    );
  }
  const chosen = selection.all.value || selection.records.value.has(record.id);
  const name = kind.nameOf(record);
  return (
    <div
      id={`row-${index}`}
      class={`row ${chosen ? 'chosen' : ''} ${selection.at.value === index ? 'at' : ''}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selectable ? chosen : undefined}
      style={style}
      onMouseDown={() => (selection.at.value = index)}
      onDblClick={() => go(`${kind.path}/${record.id}`)}
    >
      <div role="gridcell" class="cell pick">
        {selectable && <input type="checkbox" tabIndex={-1} checked={chosen} aria-label={`Select ${name}`} onChange={() => toggle(selection, record)} />}
      </div>
      {narrow.value ? (
        <div role="gridcell" class="cell two">
          <a class="strong cut" href={href(`${kind.path}/${record.id}`)} tabIndex={-1}>
            {name}
          </a>
          <span class="faint cut">{kind.below(record)}</span>
          <span class="end">
            <StatusMark status={kind.statusOf(record)} />
            <Time at={kind.when(record)} />
          </span>
        </div>
      ) : (
        columns.map((each) => (
          <div key={each.key} role="gridcell" class={classOf(each)} style={placeOf(each)}>
            {each.show(record)}
          </div>
        ))
      )}
    </div>
  );
}

/** The row that the keyboard is at belongs to the address; another view begins at its top. */
function useKeptPosition<R extends AnyRecord>(rows: Rows<R>, selection: Selection<R>, list: RefObject<HTMLElement | null>): void {
  const shown = useRef(rows.key.join());
  useLayoutEffect(() => {
    if (shown.current !== rows.key.join()) list.current?.scrollTo(0, 0);
    shown.current = rows.key.join();
    selection.at.value = kept('row') ?? -1;
  }, [rows.key.join()]);
  useEffect(() => {
    if (selection.at.value !== (kept('row') ?? -1)) keep('row', selection.at.value);
  }, [selection.at.value]);
}

function useGridKeys<R extends AnyRecord>(rows: Rows<R>, selection: Selection<R>, selectable: boolean, reveal: () => void): void {
  const { kind } = rows;
  Object.assign(latest, {
    move: (step: number) => {
      selection.at.value = Math.max(0, Math.min(rows.data.length - 1, selection.at.value + step));
      reveal();
    },
    open: () => {
      const found = rows.data[selection.at.value];
      if (found) go(`${kind.path}/${found.id}`);
    },
    pick: () => {
      const found = rows.data[selection.at.value];
      if (found && selectable) toggle(selection, found);
    },
  });
  useShortcuts(() => {
    // The arrows of an open panel are the panel's.
    const move = (step: number) => () => document.querySelector(':popover-open') === null && latest.move(step);
    const open = () => latest.open();
    const group = kind.title;
    // Of the selected rows, else of the one that the keyboard is at.
    const setStatus = () => {
      if (!selection.records.value.size) latest.pick();
      requestAnimationFrame(() => document.querySelector<HTMLElement>('.bulk .pick-status')?.click());
    };
    return [
      { keys: 'j', does: 'Next row', group, run: move(1) },
      { keys: 'ArrowDown', does: 'Next row', group, run: move(1) },
      { keys: 'k', does: 'Previous row', group, run: move(-1) },
      { keys: 'ArrowUp', does: 'Previous row', group, run: move(-1) },
      { keys: 'PageDown', does: 'Twenty rows on', group, run: move(20) },
      { keys: 'PageUp', does: 'Twenty rows back', group, run: move(-20) },
      { keys: 'Home', does: 'First row', group, run: move(-Infinity) },
      { keys: 'o', does: 'Open the row', group, run: open },
      { keys: 'Enter', does: 'Open the row', group, run: open },
      { keys: 'x', does: 'Select the row', group, run: () => latest.pick() },
      ...(selectable ? [{ keys: 's', does: 'Set the status', group, run: setStatus }] : []),
      { keys: 'Escape', does: 'Select nothing', group, run: () => select(selection, []) },
    ];
  });
}

/** What the shortcuts work on: they are added once, the rows change. */
const latest = { move: (_: number) => undefined as void, open: () => undefined as void, pick: () => undefined as void };
