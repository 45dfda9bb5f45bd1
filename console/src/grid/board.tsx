/** The board: a column for each status in the team's order, with its newest cards. Digits and the mouse move them. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api';
import { readAgain, useGet, useRead } from '../data';
import { useShortcuts } from '../keys';
import type { AnyRecord, Kind } from '../kinds/kind';
import { looks } from '../looks';
import { change } from '../record/change';
import { href } from '../route';
import { canWrite } from '../session';
import type { Page, Schemas, Status } from '../types';
import { LoadProblem, Skeleton } from '../ui/basic';
import { digitOf, StatusMark, withDigits } from '../ui/status';
import { toastProblem } from '../ui/toast';
import { count, plural, words } from '../words';
import type { View } from './view';

/** Cards of a column. */
const CARDS = 50;
const DAY = 86_400_000;
const FRESH = 30_000;

interface Props<R extends AnyRecord> {
  kind: Kind<R>;
  view: View;
}

interface Cards<R> {
  data: readonly R[];
  total: number | null;
}

/** A card in the hand: where it was, and where it goes. */
interface Move {
  id: number;
  to: string;
}

/** The statuses of a client: those that it has, and those of the team unless it has declared a set of its own. */
function statusesOf(found: readonly Schemas['RecordStatus'][]): Status[] {
  if (found.some((each) => !each.declared)) return [...found];
  const others = [...looks.value.values()].filter(({ name }) => !found.some((each) => each.name === name));
  return [...found, ...others.map((look) => ({ name: look.name, records: 0, role: null, look }) as Status)];
}

/** The statuses of the board, in the team's order; those that it has not ordered, and records without one, have the last places. */
function columnsOf(statuses: readonly Status[], only: readonly string[] | undefined): string[] {
  const order = [...looks.value.keys()];
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  const names = statuses.filter((each) => each.records > 0 || order.includes(each.name)).map((each) => each.name);
  const sorted = names.map((name, place) => ({ name, place })).sort((a, b) => rank(a.name) - rank(b.name) || a.place - b.place).map(({ name }) => name);
  return only ? sorted.filter((name) => only.includes(name)) : [...sorted, ''];
}

export function Board<R extends AnyRecord>({ kind, view }: Props<R>) {
  const loaded = useGet<Page<Schemas['RecordStatus']>>(`/public/v2/statuses/${kind.many}`, { limit: '200' });
  const board = useRef<HTMLDivElement>(null);
  const [move, setMove] = useState<Move | null>(null);
  const statuses = statusesOf(loaded.data?.data ?? []);
  const only = view.filters.find(([name]) => name === `${kind.status}[in]`)?.[1].split(',');
  const columns = columnsOf(statuses, only);
  const digits = withDigits(statuses);
  async function send(record: R, to: string) {
    const from = kind.statusOf(record) ?? '';
    if (from === to) return;
    setMove({ id: record.id, to });
    try {
      await change(kind, record, { [kind.status]: to }, { [kind.status]: from }, `${kind.nameOf(record)} is ${to ? `“${words(to)}”` : 'without a status'} now.`);
      await readAgain(`${kind.api}?board`);
    } catch (error) {
      toastProblem(error);
    }
    setMove(null);
  }
  useBoardKeys(kind, board);
  const isFiltered = view.q.trim() !== '' || view.filters.some(([name]) => name !== `${kind.status}[in]`);
  if (loaded.error) return <LoadProblem of={loaded} />;
  if (!loaded.data) return <Skeleton lines={6} wide={100} />;
  return (
    <div ref={board} id="board" class="status-board" data-scrolls role="group" aria-label={`Board of ${kind.many}`}>
      {columns.map((status) => (
        <Column
          key={status}
          kind={kind}
          view={view}
          status={status}
          stored={isFiltered || !status ? null : (statuses.find((each) => each.name === status)?.records ?? 0)}
          move={move}
          digits={digits}
          send={(record, to) => void send(record, to)}
        />
      ))}
    </div>
  );
}

interface ColumnProps<R extends AnyRecord> extends Props<R> {
  status: string;
  /** How many records have it, if the view has no other filter. */
  stored: number | null;
  move: Move | null;
  digits: readonly Status[];
  send: (record: R, to: string) => void;
}

/** Cards by their ids: what is dragged is dropped in another column. */
const carried = new Map<number, AnyRecord>();

function Column<R extends AnyRecord>({ kind, view, status, stored, move, digits, send }: ColumnProps<R>) {
  const [isOver, setOver] = useState(false);
  const filters = view.filters.filter(([name]) => name !== `${kind.status}[in]`);
  const query: [string, string][] = [...filters.map(([name, value]): [string, string] => [name, value]), status ? [kind.status, status] : [`${kind.status}[is_set]`, 'false']];
  if (view.q.trim()) query.push(['q', view.q.trim()]);
  query.push(['sort', '-status_changed_at'], ['structure', 'FLAT'], ['limit', String(CARDS)]);
  const key = `${kind.api}?board ${JSON.stringify(query)}`;
  const loaded = useRead<Cards<R>>(key, async (signal) => {
    const { data, headers } = await call<Page<R>>('GET', kind.api, { query, headers: stored === null ? { prefer: 'count=estimated' } : {}, signal });
    const total = headers.get('total-count');
    return { data: data.data, total: data.next_cursor === null ? data.data.length : total === null ? null : Number(total) };
  }, { staleTime: FRESH });
  const cards = (loaded.data?.data ?? []).filter((each) => each.id !== move?.id || move.to === status);
  const coming = move?.to === status ? carried.get(move.id) : undefined;
  const shown = coming && !cards.some((each) => each.id === coming.id) ? [coming as R, ...cards] : cards;
  useEffect(() => {
    if (!loaded.data) return;
    for (const each of loaded.data.data) carried.set(each.id, each);
    void kind.prepare(loaded.data.data);
  }, [loaded.data]);
  const total = loaded.data?.total ?? stored;
  const name = status ? looks.value.get(status)?.label || words(status) : 'No status';
  if (!status && loaded.data && !shown.length) return null;
  return (
    <section
      class={`board-column ${isOver ? 'over' : ''}`}
      data-status={status}
      aria-label={total === null ? name : `${name}, ${plural(total, kind.one, kind.many)}`}
      aria-busy={!loaded.data && !loaded.error}
      onDragOver={(event) => canWrite.value && (event.preventDefault(), setOver(true))}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const record = carried.get(Number(event.dataTransfer?.getData('text/plain')));
        if (record) send(record as R, status);
      }}
    >
      <h2>
        {status ? <StatusMark status={status} /> : 'No status'} <span class="faint">{total === null ? '' : count(total)}</span>
      </h2>
      <LoadProblem of={loaded} />
      <ul>
        {shown.map((each) => (
          <Card key={each.id} kind={kind} record={each} status={status} digits={digits} send={send} />
        ))}
      </ul>
      {total !== null && total > shown.length && shown.length > 0 && (
        <a class="faint" href={href(kind.path, [...filters, [`${kind.status}[in]`, status]])}>
          {count(total - shown.length)} more in the table
        </a>
      )}
    </section>
  );
}

interface CardProps<R extends AnyRecord> {
  kind: Kind<R>;
  record: R;
  status: string;
  digits: readonly Status[];
  send: (record: R, to: string) => void;
}

function Card<R extends AnyRecord>({ kind, record, status, digits, send }: CardProps<R>) {
  const days = record.status_changed_at ? Math.floor((Date.now() - Date.parse(record.status_changed_at)) / DAY) : null;
  const expected = looks.value.get(status)?.expected_days;
  const isLate = days !== null && expected !== null && expected !== undefined && days > expected;
  return (
    <li
      class="board-card"
      draggable={canWrite.value}
      onDragStart={(event) => event.dataTransfer?.setData('text/plain', String(record.id))}
      onKeyDown={(event) => {
        const place = digits.findIndex((each, n) => String(digitOf(each, n)) === event.key);
        const to = digits[place]?.name;
        if (to === undefined || !canWrite.value || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        event.stopPropagation();
        // The focus stays in the column: the card goes.
        focusNext(event.currentTarget);
        send(record, to);
      }}
    >
      <a class="strong cut" href={href(`${kind.path}/${record.id}`)}>
        {kind.nameOf(record)}
      </a>
      <span class="faint cut">{kind.below(record)}</span>
      {days !== null && (
        <span class={isLate ? 'faint late' : 'faint'}>
          {plural(days, 'day')}
          {isLate && <span> of {expected}: late</span>}
        </span>
      )}
    </li>
  );
}

function focusNext(card: Element): void {
  const next = card.nextElementSibling ?? card.previousElementSibling;
  next?.querySelector('a')?.focus();
}

/** Arrows lead from card to card; the digits are the cards' own. */
function useBoardKeys<R extends AnyRecord>(kind: Kind<R>, board: { current: HTMLElement | null }): void {
  const step = (down: number, right: number) => () => {
    if (document.querySelector(':popover-open') || !board.current) return;
    const columns = [...board.current.querySelectorAll('.board-column')].filter((each) => each.querySelector('.board-card'));
    const at = document.activeElement?.closest('.board-card');
    const column = columns.findIndex((each) => each.contains(at ?? null));
    const row = at ? [...(columns[column]?.querySelectorAll('.board-card') ?? [])].indexOf(at) : -1;
    const next = columns[Math.max(0, Math.min(columns.length - 1, column + right))];
    const cards = next?.querySelectorAll('.board-card a') ?? [];
    (cards[Math.max(0, Math.min(cards.length - 1, row + down))] as HTMLElement | undefined)?.focus();
  };
  const group = kind.title;
  useShortcuts(() => [
    { keys: 'j', does: 'Next card', group, run: step(1, 0) },
    { keys: 'ArrowDown', does: 'Next card', group, run: step(1, 0) },
    { keys: 'k', does: 'Previous card', group, run: step(-1, 0) },
    { keys: 'ArrowUp', does: 'Previous card', group, run: step(-1, 0) },
    { keys: 'ArrowRight', does: 'Next status', group, run: step(0, 1) },
    { keys: 'ArrowLeft', does: 'Previous status', group, run: step(0, -1) },
  ]);
}
