/** Addresses: every state of a screen that is worth sharing is in the address. */
import { signal } from '@preact/signals';

/** The console's own address, `/console` or `/prefix/console` behind a proxy; it has no slash at its end. */
export const base = /^.*?\/console(?=\/|$)/.exec(location.pathname)?.[0] ?? '/console';
/** Where the API is. */
export const root = base.slice(0, -'/console'.length);

export interface Place {
  /** Segments of the path below the console's address. */
  path: readonly string[];
  query: URLSearchParams;
}

/** Members of the query that name a client. */
const NAMING = ['client', 'of'] as const;
/** The id of each handle, as far as they are known. */
const ids = new Map<string, string>();
/** The handle of each client: addresses have it in place of the id, which is as good as a password for webhooks. */
const handles = new Map<string, string>();

export type Query = Iterable<readonly [string, string]> | Record<string, string>;

/** Screens that had another address. */
const FORMER: Readonly<Record<string, string>> = { inbox: 'webhooks', outgoing: 'endpoints' };

function read(): Place {
  const path = location.pathname.slice(base.length).split('/').filter(Boolean).map(decode);
  const renamed = FORMER[path[0] ?? ''];
  if (renamed) {
    path[0] = renamed;
    history.replaceState(history.state, '', `${base}/${path.map(encodeURIComponent).join('/')}${location.search}`);
  }
  const query = new URLSearchParams(location.search);
  if (path[0] === 'clients' && path[1] !== undefined) path[1] = idOf(path[1]);
  for (const name of NAMING) {
    const named = query.get(name);
    if (named !== null) query.set(name, idOf(named));
  }
  return { path, query };
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
  const named = [client.value, path[0] === 'clients' ? path[1] ?? '' : '', path[0] === 'settings' ? query.get('of') ?? '' : ''];
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
  if (handles.has(client.value) && localStorage.getItem('touchbase-client') === client.value) localStorage.setItem('touchbase-client', handleOf(client.value));
  const now = read();
  const names = [now.path[0] === 'clients' ? now.path[1] : undefined, ...NAMING.map((name) => now.query.get(name) ?? undefined)];
  if (!names.some((name) => name !== undefined && handles.has(name))) return;
  const text = shown(`/${now.path.join('/')}`, now.query);
  if (text !== location.pathname + location.search) history.replaceState(history.state, '', text);
  if (JSON.stringify([now.path, `${now.query}`]) !== JSON.stringify([place.value.path, `${place.value.query}`])) place.value = now;
}

/** Return an address of the console with handles in place of ids. */
function shown(path: string, query: Iterable<readonly [string, string]>): string {
  const segments = path.split('/');
  if (segments[1] === 'clients' && segments[2]) segments[2] = handleOf(decode(segments[2]));
  const pairs = [...query].map(([name, value]) => [name, name === 'client' || name === 'of' ? handleOf(value) : value] as const);
  const text = pairs.map(([name, value]) => `${bare(name)}=${bare(value)}`).join('&');
  return `${base}${path === '/' ? '' : segments.join('/')}${text && `?${text}`}`;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const place = signal(read());
/** Called before the address changes by a link or an act. */
export const leaving = new Set<() => void>();
/** The chosen client: it stays in the address from screen to screen. */
export const client = signal(place.value.query.get('client') ?? localStorage.getItem('touchbase-client') ?? '');

/** Return the address of a screen; the chosen client goes with it, or another one. */
export function href(path: string, query: Query = {}, of = client.value): string {
  const pairs = Symbol.iterator in query ? [...query] : Object.entries(query);
  const found = pairs.filter(([name, value]) => name !== 'client' && value !== '');
  if (of) found.push(['client', of]);
  return shown(path, found);
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
  place.value = read();
}

/** Choose a client: the screen stays, its record does not. */
export function chooseClient(id: string): void {
  client.value = id;
  localStorage.setItem('touchbase-client', handleOf(id));
  go(`/${place.value.path[0] ?? ''}`);
}

/** Show the present address, and the client that it names. */
function arrive(): void {
  place.value = read();
  const named = place.value.query.get('client');
  if (named) client.value = named;
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
