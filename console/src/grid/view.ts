/** A view of the records of a kind: filters, order, columns. All of it is in the address, so a view can be sent to a colleague. */
import type { AnyRecord, Kind } from '../kinds/kind';
import { client, go, place } from '../route';
import { shortTime } from '../words';

const OWN = new Set(['client', 'q', 'sort', 'cols', 'layout', 'view']);
/** A column in an address: its key, its width, and whether it is pinned. */
const COLUMN = /^(.+?)(?:~(\d{2,4}))?(!)?$/;
/** The order of a view that names none: what happened last comes first. */
export const USUAL_SORT = '-updated_time';

export interface View {
  q: string;
  sort: string;
  columns: readonly string[];
  /** Names as the API has them, such as `contact_status[in]`, with their values. */
  filters: readonly (readonly [string, string])[];
  /** Pixels, of columns whose width somebody chose. */
  widths: Readonly<Record<string, number>>;
  /** Columns that stay in sight while the others scroll. */
  pinned: readonly string[];
  layout: 'table' | 'board';
  /** The saved view that this began as. */
  saved: string;
}

export type AnyKind = Pick<Kind<AnyRecord>, 'path' | 'api' | 'usual'>;

export function viewOf(kind: AnyKind, query: URLSearchParams): View {
  const columns = query.get('cols')?.split(',').map((text) => COLUMN.exec(text)).filter((match) => match !== null) ?? null;
  return {
    q: query.get('q') ?? '',
    sort: query.get('sort') ?? USUAL_SORT,
    columns: columns?.map(([, key = '']) => key) ?? kind.usual,
    filters: [...query].filter(([name]) => !OWN.has(name)),
    widths: Object.fromEntries((columns ?? []).flatMap(([, key = '', width]) => (width ? [[key, Number(width)]] : []))),
    pinned: (columns ?? []).flatMap(([, key = '', , pin]) => (pin ? [key] : [])),
    layout: query.get('layout') === 'board' ? 'board' : 'table',
    saved: query.get('view') ?? '',
  };
}

/** The present view. */
export function current(kind: AnyKind): View {
  return viewOf(kind, place.value.query);
}

/** Show another view; each change of more than the search text is a step back in the browser's history. */
export function show(kind: AnyKind, view: View, replace = false): void {
  go(kind.path, pairs(kind, view), replace);
}

/** A view as the query of its address. */
export function pairs(kind: AnyKind, view: View): [string, string][] {
  const all: [string, string][] = view.filters.map(([name, value]) => [name, value]);
  if (view.q) all.push(['q', view.q]);
  if (view.sort !== USUAL_SORT) all.push(['sort', view.sort]);
  const columns = view.columns.map((key) => columnText(key, view.widths[key], view.pinned.includes(key))).join();
  if (columns !== kind.usual.join()) all.push(['cols', columns]);
  if (view.layout === 'board') all.push(['layout', 'board']);
  if (view.saved) all.push(['view', view.saved]);
  return all;
}

/** A column in an address: `email`, `email~240` with its width, and `!` behind it if it is pinned. */
export function columnText(field: string, width: number | undefined, pinned = false): string {
  return `${field}${width ? `~${width}` : ''}${pinned ? '!' : ''}`;
}

/** The query of the API for a page of this view. */
export function apiQuery(view: View, limit: number, cursor: string | null): [string, string][] {
  const all: [string, string][] = view.filters.map(([name, value]) => [name, value]);
  if (view.q.trim()) all.push(['q', view.q.trim()]);
  if (view.sort) all.push(['sort', view.sort]);
  all.push(['structure', 'FLAT'], ['limit', String(limit)]);
  if (cursor) all.push(['cursor', cursor]);
  return all;
}

/** The filters of a view, for requests about all records that match; at least one, which a change by filter needs. */
export function matchQuery(view: View): [string, string][] {
  const all: [string, string][] = view.filters.map(([name, value]) => [name, value]);
  if (view.q.trim()) all.push(['q', view.q.trim()]);
  return all.length ? all : [['id[gte]', '1']];
}

/** The request of a view for a shell. */
export function curlOf(kind: AnyKind, view: View, keysNeeded: boolean, origin: string): string {
  const query = apiQuery(view, 200, null).map(([name, value]) => `  --data-urlencode ${quoted(`${name}=${value}`)}`);
  const headers = keysNeeded ? ['  -H "Authorization: Bearer $TOUCHBASE_KEY"'] : [];
  if (client.value) headers.push(`  -H ${quoted(`X-Client-Id: ${client.value}`)}`);
  return [`curl -sG ${quoted(origin + kind.api)}`, ...headers, ...query].join(' \\\n');
}

function quoted(text: string): string {
  return `'${text.replace(/'/g, `'\\''`)}'`;
}

export const OPERATORS: Record<string, string> = {
  eq: 'is', ne: 'is not', in: 'is one of', nin: 'is none of', contains: 'contains', starts_with: 'begins with',
  gt: 'is more than', gte: 'is at least', lt: 'is less than', lte: 'is at most', is_set: 'is there',
};

export const TIME_OPERATORS: Record<string, string> = { gte: 'in the last', lt: 'longer ago than', is_set: 'is there' };

/** The people of a number in a report: `replied;since=…;until=…;step=2`. */
function countedInWords(value: string, isNot: boolean): string {
  const [people = '', ...parts] = value.split(';');
  const said = parts.map((part) => {
    const [name = '', text = ''] = part.split(/=(.*)/s).map(decoded);
    const at = Date.parse(text);
    if (name === 'since' || name === 'until') return `${name === 'since' ? 'from' : 'to'} ${Number.isNaN(at) ? text : shortTime(text)}`;
    return text ? `${name} ${text.replace(/_/g, ' ')}` : `no ${name}`;
  });
  return `${isNot ? 'not ' : ''}as ${people.replace(/_/g, ' and ').replace('mailed', 'emailed')}${said.map((part) => `, ${part}`).join('')}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A filter in words. */
export function inWords(name: string, value: string): string {
  const operator = /\[(\w+)\]$/.exec(name)?.[1] ?? 'eq';
  if (name.startsWith('counted')) return countedInWords(value, operator === 'ne');
  if (operator === 'is_set') return value === 'false' ? 'is not there' : 'is there';
  const length = /^(\d+)([mhdw])$/.exec(value);
  if (length && /(_time|_at|_sent|_received)(\[|$)/.test(name)) {
    const unit = { m: 'minute', h: 'hour', d: 'day', w: 'week' }[length[2] ?? 'd'];
    return `${operator.startsWith('g') ? 'in the last' : 'longer ago than'} ${length[1]} ${unit}${length[1] === '1' ? '' : 's'}`;
  }
  const single = operator === 'in' && !value.includes(',');
  return `${single ? 'is' : (OPERATORS[operator] ?? operator)} ${value.replace(/_/g, ' ').replace(/,/g, ', ')}`;
}
