/** The grid: only the rows in sight are on the page. */
import { signal, type Signal } from '@preact/signals';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { useShortcuts } from '../keys';
import { go, href } from '../route';
import type { Contact } from '../types';
import { Icon, StatusMark, Time } from '../ui/basic';
import { personName } from '../words';
import type { Column } from './columns';
import { companies, PAGE, type Rows } from './rows';
import { scrollTo, sightOf, useScroll } from './scroll';
import { current, show, type View } from './view';

const narrowQuery = matchMedia('(max-width: 720px)');
const narrow = signal(narrowQuery.matches);
narrowQuery.addEventListener('change', () => (narrow.value = narrowQuery.matches));
const ROW = 36;
const ROW_NARROW = 60;
const HEAD = 36;

export interface Selection {
  ids: Signal<ReadonlySet<number>>;
  /** The row that the keyboard is at. */
  at: Signal<number>;
}

export function newSelection(): Selection {
  return { ids: signal(new Set()), at: signal(-1) };
}

function toggle(selection: Selection, id: number): void {
  const next = new Set(selection.ids.value);
  if (!next.delete(id)) next.add(id);
  selection.ids.value = next;
}

interface Props {
  rows: Rows;
  view: View;
  columns: readonly Column[];
  selection: Selection;
  selectable: boolean;
}

export function Grid({ rows, view, columns, selection, selectable }: Props) {
  const { ref, scrolled, viewport } = useScroll();
  rows.version.value; // drawn again when rows arrive
  const height = narrow.value ? ROW_NARROW : ROW;
  const waiting = rows.isComplete || rows.problem.value ? 0 : PAGE;
  const count = rows.known + waiting;
  const head = narrow.value ? 0 : HEAD;
  const sight = sightOf(scrolled, viewport - head, count, height);
  useEffect(() => rows.ensure(sight.first, sight.last), [rows, sight.first, sight.last, rows.version.value]);
  useLayoutEffect(() => {
    ref.current?.scrollTo(0, 0);
    selection.at.value = -1;
  }, [rows]);
  useGridKeys(rows, selection, selectable, () => {
    const element = ref.current;
    if (element) element.scrollTop = scrollTo(selection.at.value, element.scrollTop, element.clientHeight - (narrow.value ? 0 : HEAD), count, narrow.value ? ROW_NARROW : ROW);
  });
  const tracks = [selectable ? '40px' : '16px', ...columns.map((each, n) => (n === columns.length - 1 ? `minmax(${each.width}px, 1fr)` : `${each.width}px`))].join(' ');
  const width = 40 + columns.reduce((sum, each) => sum + each.width, 0);
  const drawn = Array.from({ length: Math.max(0, sight.last - sight.first + 1) }, (_, n) => sight.first + n);
  const total = rows.total.value;
  const shape = { tracks, columns, selection, selectable };
  return (
    <div
      ref={ref}
      class={`grid ${narrow.value ? 'narrow' : ''}`}
      role="grid"
      aria-label="Contacts"
      aria-rowcount={total?.exact ? total.count + 1 : -1}
      aria-colcount={columns.length + 1}
      aria-multiselectable={selectable}
      aria-busy={!rows.started.value}
      tabIndex={0}
      aria-activedescendant={selection.at.value >= 0 ? `row-${selection.at.value}` : undefined}
    >
      <div class="grid-width" role="presentation" style={{ minWidth: narrow.value ? '0' : `${width}px` }}>
        <Head view={view} rows={rows} {...shape} />
        <div class="grid-rows" role="rowgroup" style={{ height: `${sight.height}px` }}>
          {drawn.map((index) => {
            const contact = rows.row(index);
            if (!contact && rows.isComplete && index >= rows.known) return null;
            return <Row key={index} index={index} contact={contact} top={sight.top(index)} height={height} {...shape} />;
          })}
        </div>
      </div>
    </div>
  );
}

interface Shape {
  tracks: string;
  columns: readonly Column[];
  selection: Selection;
  selectable: boolean;
}

function Head({ view, rows, tracks, columns, selection, selectable }: Shape & { view: View; rows: Rows }) {
  const field = view.sort.replace(/^-/, '');
  const down = view.sort.startsWith('-');
  const loaded = rows.loaded();
  const all = loaded.length > 0 && loaded.every((each) => selection.ids.value.has(each.id));
  function sort(column: Column) {
    if (!column.sort) return;
    const next = field !== column.sort ? `${column.number || column.key.includes('_') && column.width === 124 ? '-' : ''}${column.sort}` : down ? column.sort : `-${column.sort}`;
    show({ ...current(), sort: next });
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
              onChange={() => (selection.ids.value = new Set(all ? [] : loaded.map((each) => each.id)))}
            />
          )}
        </div>
        {columns.map((each) => (
          <div key={each.key} role="columnheader" class={`cell ${each.number ? 'number' : ''}`} aria-sort={each.sort && field === each.sort ? (down ? 'descending' : 'ascending') : undefined}>
            {each.sort ? (
              <button type="button" class="sort" onClick={() => sort(each)}>
                <span class="cut">{each.name}</span>
                {field === each.sort && <Icon name={down ? 'desc' : 'asc'} />}
              </button>
            ) : (
              <span class="cut">{each.name}</span>
            )}
          </div>
        ))}
      </div>
    </div>
  );
}

interface RowProps extends Shape {
  index: number;
  contact: Contact | null;
  top: number;
  height: number;
}

function Row({ index, contact, top, height, tracks, columns, selection, selectable }: RowProps) {
  const style = { transform: `translateY(${top}px)`, height: `${height}px`, gridTemplateColumns: narrow.value ? undefined : tracks };
  if (!contact) {
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
  const chosen = selection.ids.value.has(contact.id);
  return (
    <div
      id={`row-${index}`}
      class={`row ${chosen ? 'chosen' : ''} ${selection.at.value === index ? 'at' : ''}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selectable ? chosen : undefined}
      style={style}
      onMouseDown={() => (selection.at.value = index)}
      onDblClick={() => go(`/contacts/${contact.id}`)}
    >
      <div role="gridcell" class="cell pick">
        {selectable && <input type="checkbox" tabIndex={-1} checked={chosen} aria-label={`Select ${personName(contact)}`} onChange={() => toggle(selection, contact.id)} />}
      </div>
      {narrow.value ? (
        <div role="gridcell" class="cell two">
          <a class="strong cut" href={href(`/contacts/${contact.id}`)} tabIndex={-1}>
            {personName(contact)}
          </a>
          <span class="faint cut">{contact.email ?? contact.linkedin_url ?? ''}</span>
          <span class="end">
            <StatusMark status={contact.contact_status} />
            <Time at={contact.last_reply_received ?? contact.last_campaign_email_sent} />
          </span>
        </div>
      ) : (
        columns.map((each) => (
          <div key={each.key} role="gridcell" class={`cell ${each.number ? 'number' : ''}`}>
            {each.show(contact, companies.value)}
          </div>
        ))
      )}
    </div>
  );
}

function useGridKeys(rows: Rows, selection: Selection, selectable: boolean, reveal: () => void): void {
  latest.rows = rows;
  latest.reveal = reveal;
  useShortcuts(() => {
    const move = (step: number) => () => {
      selection.at.value = Math.max(0, Math.min(latest.rows?.known ? latest.rows.known - 1 : 0, selection.at.value + step));
      latest.reveal();
    };
    const contact = () => latest.rows?.row(selection.at.value) ?? null;
    const open = () => {
      const found = contact();
      if (found) go(`/contacts/${found.id}`);
    };
    const pick = () => {
      const found = contact();
      if (found && selectable) toggle(selection, found.id);
    };
    const group = 'Contacts';
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
      { keys: 'x', does: 'Select the row', group, run: pick },
      { keys: 'Escape', does: 'Select nothing', group, run: () => (selection.ids.value = new Set()) },
    ];
  });
}

/** What the shortcuts work on: they are added once, the rows change. */
const latest: { rows: Rows | null; reveal: () => void } = { rows: null, reveal: () => undefined };
