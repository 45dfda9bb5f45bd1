/** Addresses, `/console/{scope}/{screen}/{item}?filters`: every state of a screen that is worth sharing is in the address. */
import { batch, signal } from '@preact/signals';

/** The console's own address, `/console` or `/prefix/console` behind a proxy; it has no slash at its end. */
export const base = /^.*?\/console(?=\/|$)/.exec(location.pathname)?.[0] ?? '/console';
/** Where the API is. */
export const root = base.slice(0, -'/console'.length);

export interface Place {
  /** Segments of the path below the console's address. */
  path: readonly string[];
  query: URLSearchParams;
}

/** The member of the query that names a client. */
const NAMING = 'of';
/** The scope of all clients that the person may see. */
const ALL = 'all';
/** Screens below a scope, as addresses name them. */
const SCREENS: ReadonlySet<string> = new Set([
  'overview', 'replies', 'tasks', 'contacts', 'reports', 'companies', 'duplicates', 'imports', 'suppressions', 'webhooks', 'clients', 'endpoints', 'keys', 'team', 'audit', 'profile', 'settings', 'erasure', 'help', 'bin', 'history',
]);
/** Screens that had another address. */
const FORMER: Readonly<Record<string, string>> = { inbox: 'webhooks', outgoing: 'endpoints' };
/** Pages of links in emails, before anybody is signed in. */
const UNSCOPED: ReadonlySet<string> = new Set(['join', 'sign-in']);
const STORED = 'touchbase-client';
/** The id of each handle, as far as they are known. */
const ids = new Map<string, string>();
/** The handle of each client: addresses have it in place of the id, which is as good as a password for webhooks. */
const handles = new Map<string, string>();

export type Query = Iterable<readonly [string, string]> | Record<string, string>;

interface Address extends Place {
  /** `all`, or the handle or id of a client; undefined where an address names none. */
  scope: string | undefined;
}

/** Read `/console/{scope}/{screen}/{item}`; a former address has its scope in the query, as `client` or `all`. */
function parse(): Address {
  const segments = location.pathname.slice(base.length).split('/').filter(Boolean).map(decode);
  const query = new URLSearchParams(location.search);
  let scope: string | undefined;
  let path = segments;
  if (SCREENS.has(segments[1] ?? '')) {
    [scope, ...path] = segments;
  } else {
    scope = query.has(ALL) ? ALL : (query.get('client') ?? undefined);
    query.delete(ALL);
    query.delete('client');
    path = path.map((segment, n) => (n === 0 ? (FORMER[segment] ?? segment) : segment));
  }
  if (path[0] === 'overview') path = path.slice(1);
  if (path[0] === 'clients' && path[1] !== undefined) path = ['clients', idOf(path[1]), ...path.slice(2)];
  const named = query.get(NAMING);
  if (named !== null) query.set(NAMING, idOf(named));
  return { scope, path, query };
}

function idOf(named: string): string {
  return ids.get(named) ?? named;
}

function handleOf(id: string): string {
  return handles.get(id) ?? id;
}

/** Return the names of clients in the present address whose ids are not known yet. */
export function unknownNames(): string[] {
  const { path, query } = place.value;
  const named = [client.value, path[0] === 'clients' ? path[1] ?? '' : '', path[0] === 'settings' || path[0] === 'replies' ? query.get(NAMING) ?? '' : ''];
  return [...new Set(named)].filter((name) => name !== '' && !ids.has(name) && !handles.has(name));
}

/** Learn the handles of clients; an address with one of their ids is replaced. */
export function learn(known: readonly { client_id: string; handle?: string }[]): void {
  for (const { client_id: id, handle } of known) {
    if (!handle) continue;
    ids.set(handle, id);
    handles.set(id, handle);
  }
  client.value = idOf(client.value);
  if (handles.has(client.value) && localStorage.getItem(STORED) === client.value) localStorage.setItem(STORED, handleOf(client.value));
  const { path, query } = parse();
  if (JSON.stringify([path, `${query}`]) !== JSON.stringify([place.value.path, `${place.value.query}`])) place.value = { path, query };
}

/** Replace the address by the one that the present screen and scope have now, if it is a former one or has ids in it. */
export function tidy(): void {
  const { path, query } = place.value;
  if (UNSCOPED.has(path[0] ?? '') || (path[0] !== undefined && !SCREENS.has(path[0]))) return;
  const to = shown(`/${path.map(encodeURIComponent).join('/')}`, query, client.value);
  if (to !== location.pathname + location.search) history.replaceState(history.state, '', to + location.hash);
}

/** Return an address of the console with handles in place of ids. */
function shown(path: string, query: Iterable<readonly [string, string]>, of: string): string {
  const segments = (path === '/' ? '/overview' : path).split('/');
  if (segments[1] === 'clients' && segments[2]) segments[2] = encodeURIComponent(handleOf(decode(segments[2])));
  const pairs = [...query].map(([name, value]) => [name, name === NAMING ? handleOf(value) : value] as const);
  const text = pairs.map(([name, value]) => `${bare(name)}=${bare(value)}`).join('&');
  return `${base}/${of ? encodeURIComponent(handleOf(of)) : ALL}${segments.join('/')}${text && `?${text}`}`;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const first = parse();
export const place = signal<Place>({ path: first.path, query: first.query });
/** Called before the address changes by a link or an act. */
export const leaving = new Set<() => void>();
/** The client of the scope: it stays from screen to screen; empty for all clients, and for a key of one client. */
export const client = signal(clientOf(first.scope ?? localStorage.getItem(STORED) ?? ALL));

function clientOf(scope: string): string {
  return scope === ALL ? '' : idOf(scope);
}

/** Return the address of a screen; the scope goes with it, or another client. */
export function href(path: string, query: Query = {}, of = client.value): string {
  const pairs = Symbol.iterator in query ? [...query] : Object.entries(query);
  return shown(path, pairs.filter(([, value]) => value !== ''), of);
}

/** Encode a part of a query so that people can read it: brackets and commas stay. */
function bare(text: string): string {
  return encodeURIComponent(text).replace(/%(5B|5D|2C|3A|40|2F)/g, decodeURIComponent).replace(/%20/g, '+');
}

/** Show another screen. */
export function go(path: string, query: Query = {}, replace = false): void {
  const to = href(path, query);
  if (to === location.pathname + location.search) return;
  leaving.forEach((each) => each());
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  arrive();
}

/** Choose a client, or with an empty id all of them: the screen stays, its record does not, unless the address to go to has one. */
export function chooseClient(id: string, to = `/${place.value.path[0] ?? ''}`, query: Query = {}): void {
  localStorage.setItem(STORED, id ? handleOf(id) : ALL);
  client.value = id;
  go(to, query);
}

/** Show the present address, and the scope that it names. */
function arrive(): void {
  const { scope, path, query } = parse();
  batch(() => {
    place.value = { path, query };
    if (scope !== undefined) client.value = clientOf(scope);
  });
  tidy();
}

addEventListener('popstate', arrive);

/** Follow links of the console without loading the page again. */
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (link.pathname !== base && !link.pathname.startsWith(`${base}/`)) return;
  event.preventDefault();
  if (link.href !== location.href) {
    leaving.forEach((each) => each());
    history.pushState(null, '', link.href);
    arrive();
  }
});
