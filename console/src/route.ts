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

export type Query = Iterable<readonly [string, string]> | Record<string, string>;

function read(): Place {
  const path = location.pathname.slice(base.length).split('/').filter(Boolean).map(decode);
  return { path, query: new URLSearchParams(location.search) };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const place = signal(read());
/** The chosen client: it stays in the address from screen to screen. */
export const client = signal(place.value.query.get('client') ?? localStorage.getItem('touchbase-client') ?? '');

/** Return the address of a screen; the client goes with it. */
export function href(path: string, query: Query = {}): string {
  const pairs = Symbol.iterator in query ? [...query] : Object.entries(query);
  const found = pairs.filter(([name, value]) => name !== 'client' && value !== '');
  if (client.value) found.push(['client', client.value]);
  const text = found.map(([name, value]) => `${bare(name)}=${bare(value)}`).join('&');
  return `${base}${path === '/' ? '' : path}${text && `?${text}`}`;
}

/** Encode a part of a query so that people can read it: brackets and commas stay. */
function bare(text: string): string {
  return encodeURIComponent(text).replace(/%(5B|5D|2C|3A|40|2F)/g, decodeURIComponent).replace(/%20/g, '+');
}

/** Show another screen. */
export function go(path: string, query: Query = {}, replace = false): void {
  const to = href(path, query);
  if (to === location.pathname + location.search) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  place.value = read();
}

/** Choose a client: the screen stays, its record does not. */
export function chooseClient(id: string): void {
  client.value = id;
  localStorage.setItem('touchbase-client', id);
  go(`/${place.value.path[0] ?? ''}`);
}

addEventListener('popstate', () => {
  place.value = read();
  const named = place.value.query.get('client');
  if (named) client.value = named;
});

/** Follow links of the console without loading the page again. */
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (link.pathname !== base && !link.pathname.startsWith(`${base}/`)) return;
  event.preventDefault();
  if (link.href !== location.href) {
    history.pushState(null, '', link.href);
    place.value = read();
  }
});
