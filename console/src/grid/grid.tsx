/** The grid: only the rows in sight are on the page. */
import type { ComponentChild, ComponentType, RefObject } from 'preact';
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
import { later } from '../ui/later';
import { reveal, useVirtual } from '../ui/virtual';
import { CellEditor, filterBy, isEditable, useClipboard } from './cells';
import type { Rows } from './rows';
import { isInRange, select, toggle, type Selection } from './selection';
import { current, show, type View } from './view';

const ROW = { regular: 40, compact: 32 };
const ROW_TOUCH = 56;
type AnyFill = (props: { rows: unknown; columns: unknown; selection: unknown; pasted: string }) => ComponentChild;
const Paste = later(() => import('../more').then((all) => all.Fill as AnyFill as ComponentType<Parameters<AnyFill>[0]>), true);
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
  const sizes = { count: rows.count, height, head };
  const virtual = useVirtual(list, { ...sizes, from: kept('scroll grid') });
  const drawn = virtual.getVirtualItems();
  const [first, last] = [drawn[0]?.index ?? 0, drawn.at(-1)?.index ?? 0];
  useEffect(() => rows.need(first, last), [rows.list, first, last]);
  useKeptPosition(rows, selection, list);
  useGridKeys(rows, columns, selection, selectable, () => reveal(virtual, sizes, selection.at.value));
  useClipboard(list, rows, columns, selection, selectable);
  const tracks = [selectable ? '40px' : '16px', ...columns.map((each, n) => (n === columns.length - 1 ? `minmax(${each.width}px, 1fr)` : `${each.width}px`))].join(' ');
  const width = 40 + columns.reduce((sum, each) => sum + each.width, 0);
  const { total } = rows;
  const shape = { kind: rows.kind, tracks, columns, selection, selectable };
  const at = selection.at.value;
  const isDrawn = at >= first && at <= last;
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
      aria-activedescendant={isDrawn && at >= 0 ? (narrow.value ? `row-${at}` : `cell-${at}-${selection.column.value}`) : undefined}
    >
      <div class="grid-width" role="presentation" style={{ minWidth: narrow.value ? '0' : `${width}px` }}>
        <Head view={view} rows={rows} onSize={setDragged} {...shape} />
        <div class="grid-rows" role="rowgroup" style={{ height: `${virtual.pixels}px` }}>
          {drawn.map(({ index, start }) => (
            <Row key={index} index={index} record={rows.at(index)} top={start - head - virtual.shift} height={height} rows={rows} {...shape} />
          ))}
        </div>
      </div>
      {selection.pasted.value && <Paste rows={rows} columns={columns} selection={selection} pasted={selection.pasted.value} />}
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
  rows: Rows<R>;
  top: number;
  height: number;
}

function Row<R extends AnyRecord>({ kind, index, record, rows, top, height, tracks, columns, selection, selectable }: RowProps<R>) {
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
        columns.map((each, number) => {
          const isAt = selection.at.value === index && selection.column.value === number;
          return (
            <div
              key={each.key}
              id={`cell-${index}-${number}`}
              role="gridcell"
              class={`${classOf(each)} ${isAt ? 'at' : ''} ${isInRange(selection, index, number) ? 'in-range' : ''}`}
              style={placeOf(each)}
              onMouseDown={(event) => {
                if ((event.target as Element).closest('.cell-editor')) return;
                selection.editing.value = false;
                if (event.shiftKey) event.preventDefault(); // a range of cells, not of text
                selection.from.value = event.shiftKey ? (selection.from.value ?? { row: selection.at.value, column: selection.column.value }) : null;
                selection.column.value = number;
              }}
              onClickCapture={(event) => {
                if (!event.altKey) return;
                event.preventDefault();
                event.stopPropagation();
                filterBy(kind, each, record);
              }}
            >
              {isAt && selection.editing.value ? <CellEditor rows={rows} columns={columns} selection={selection} column={each} record={record} /> : each.show(record)}
            </div>
          );
        })
      )}
    </div>
  );
}

/** The row that the keyboard is at belongs to the address; another view begins at its top. */
function useKeptPosition<R extends AnyRecord>(rows: Rows<R>, selection: Selection<R>, list: RefObject<HTMLElement | null>): void {
  const shown = useRef(rows.list);
  useLayoutEffect(() => {
    if (shown.current !== rows.list) list.current?.scrollTo(0, 0);
    shown.current = rows.list;
    selection.at.value = kept('row') ?? -1;
  }, [rows.list]);
  useEffect(() => {
    if (selection.at.value !== (kept('row') ?? -1)) keep('row', selection.at.value);
  }, [selection.at.value]);
}

function useGridKeys<R extends AnyRecord>(rows: Rows<R>, columns: readonly Column<R>[], selection: Selection<R>, selectable: boolean, reveal: () => void): void {
  const { kind } = rows;
  /** Whether the keys have to do with a range of cells from here on. */
  function extend(isRange: boolean) {
    if (!isRange) selection.from.value = null;
    else if (selection.at.value >= 0) selection.from.value ??= { row: selection.at.value, column: selection.column.value };
  }
  Object.assign(latest, {
    move: (step: number, isRange = false) => {
      extend(isRange);
      selection.at.value = Math.max(0, Math.min(rows.count - 1, selection.at.value + step));
      reveal();
    },
    side: (step: number, isRange = false) => {
      extend(isRange);
      selection.column.value = Math.max(0, Math.min(columns.length - 1, selection.column.value + step));
      document.getElementById(`cell-${selection.at.value}-${selection.column.value}`)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    },
    end: () =>
      void rows.end().then((last) => {
        selection.from.value = null;
        selection.at.value = Math.max(0, last);
        // The list is as long as it is by now when it has been drawn again.
        requestAnimationFrame(() => requestAnimationFrame(() => latest.move(0)));
      }),
    open: () => {
      const found = rows.at(selection.at.value);
      if (found) go(`${kind.path}/${found.id}`);
    },
    enter: () => {
      const column = columns[selection.column.value];
      if (selectable && !narrow.value && column && rows.at(selection.at.value) && isEditable(kind, column)) selection.editing.value = true;
      else latest.open();
    },
    pick: () => {
      const found = rows.at(selection.at.value);
      if (found && selectable) toggle(selection, found);
    },
  });
  useShortcuts(() => {
    // The arrows of an open panel are the panel's.
    const move = (step: number, isRange = false) => () => document.querySelector(':popover-open') === null && latest.move(step, isRange);
    const side = (step: number, isRange = false) => () => document.querySelector(':popover-open') === null && latest.side(step, isRange);
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
      { keys: 'End', does: 'Last row', group, run: () => latest.end() },
      { keys: 'ArrowRight', does: 'Next cell', group, run: side(1) },
      { keys: 'ArrowLeft', does: 'Cell before', group, run: side(-1) },
      { keys: 'o', does: 'Open the row', group, run: () => latest.open() },
      { keys: 'Enter', does: selectable ? 'Edit the cell; on the name: open the row' : 'Open the row', group, run: () => latest.enter() },
      ...(selectable
        ? [
            { keys: 'Shift+ArrowDown', does: 'Extend the range of cells', group, run: move(1, true) },
            { keys: 'Shift+ArrowUp', does: 'Extend the range of cells', group, run: move(-1, true) },
            { keys: 'Shift+ArrowRight', does: 'Extend the range of cells', group, run: side(1, true) },
            { keys: 'Shift+ArrowLeft', does: 'Extend the range of cells', group, run: side(-1, true) },
          ]
        : []),
      { keys: 'x', does: 'Select the row', group, run: () => latest.pick() },
      ...(selectable ? [{ keys: 's', does: 'Set the status', group, run: setStatus }] : []),
      { keys: 'Escape', does: 'Select nothing', group, run: () => ((selection.from.value = null), select(selection, [])) },
    ];
  });
}

/** What the shortcuts work on: they are added once, the rows change. */
const nothing = () => undefined as void;
const latest = { move: (_: number, _isRange?: boolean) => undefined as void, side: (_: number, _isRange?: boolean) => undefined as void, end: nothing, open: nothing, enter: nothing, pick: nothing };
