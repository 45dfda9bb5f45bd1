/** Views that were kept under a name, in this browser, for a client and a kind of record. */
import { signal } from '@preact/signals';
import { client } from '../route';
import { session } from '../session';

export interface SavedView {
  name: string;
  /** The query of its address, without the client. */
  query: [string, string][];
}

const STORED = 'touchbase-views';
const MOST = 100;
export const LONGEST = 60;

type All = Record<string, SavedView[]>;

function read(): All {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(STORED) ?? '{}');
    if (typeof found !== 'object' || found === null) return {};
    return Object.fromEntries(Object.entries(found).filter(([, views]) => Array.isArray(views) && views.every(isView))) as All;
  } catch {
    return {}; // what another version or a person wrote there is not worth a broken page
  }
}

function isView(one: unknown): one is SavedView {
  return typeof one === 'object' && one !== null && 'name' in one && typeof one.name === 'string' && 'query' in one && Array.isArray(one.query)
    && one.query.every((each: unknown) => Array.isArray(each) && each.length === 2 && each.every((part) => typeof part === 'string'));
}

const all = signal(read());
// Another tab may have kept or removed one.
addEventListener('storage', (event) => event.key === STORED && (all.value = read()));

function place(many: string): string {
  return `${client.value || session.value?.client_id || ''}/${many}`;
}

export function savedViews(many: string): readonly SavedView[] {
  return all.value[place(many)] ?? [];
}

function write(many: string, views: SavedView[]): void {
  all.value = { ...read(), [place(many)]: views };
  localStorage.setItem(STORED, JSON.stringify(all.value));
}

/** Fillers and characters without width, as the server's `is_blank` has them. */
const BLANK = /^[\p{Cc}\p{Cf}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\uffa0\ufe00-\ufe0f]*$/u;

/** Why no further view can be kept under a name, or no view renamed to it; blank if it can. */
export function whyNotKept(many: string, name: string, from?: string): string {
  if (BLANK.test(name)) return 'A name must have a visible character.';
  const others = savedViews(many).filter((each) => each.name !== name && each.name !== from);
  return others.length < MOST ? '' : `${MOST} views are kept, the most of a client; remove one first.`;
}

/** Keep a view; a name that is known leads to this view from now on. */
export function saveView(many: string, view: SavedView): void {
  const others = savedViews(many).filter((each) => each.name !== view.name);
  write(many, [...others, view].sort((a, b) => a.name.localeCompare(b.name)));
}

export function removeView(many: string, name: string): void {
  write(many, savedViews(many).filter((each) => each.name !== name));
}

export function renameView(many: string, from: string, to: string): void {
  const found = savedViews(many).find((each) => each.name === from);
  if (!found || from === to) return;
  removeView(many, from);
  saveView(many, { ...found, name: to });
}
