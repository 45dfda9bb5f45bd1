/** Views that are saved on the server: of the client that is shown, and of all clients. */
import { signal } from '@preact/signals';
import { call, get, post } from '../api';
import { client } from '../route';
import { isAdmin, session, showsAll } from '../session';
import type { Schemas } from '../types';
import { columnText, USUAL_SORT, type View } from './view';

export type SavedView = Schemas['ViewOut'];
type Content = Required<Pick<SavedView, 'where' | 'q' | 'sort' | 'columns' | 'layout'>>;
export const LONGEST = 60;
/** In their order; both kinds of record. */
export const savedViews = signal<readonly SavedView[]>([]);

function owner(): string {
  return client.value || session.value?.client_id || 'default';
}

function pathOf(of: string | null, id?: number): string {
  return `/team/v1/views/${encodeURIComponent(of ?? 'all')}${id === undefined ? '' : `/${id}`}`;
}

export async function readViews(): Promise<void> {
  const of = owner();
  const found = showsAll.value ? null : await get<Schemas['ViewList']>(pathOf(of)).catch(() => null);
  if (of === owner()) savedViews.value = found?.data ?? [];
}

/** Save a new view; `forAll`: for all clients. */
export async function saveView(body: Schemas['NewView'], forAll = false): Promise<SavedView> {
  const saved = await post<SavedView>(pathOf(forAll ? null : owner()), body);
  await readViews();
  return saved;
}

export async function changeView(view: SavedView, body: Schemas['ViewChange']): Promise<void> {
  try {
    await call('PATCH', pathOf(view.client_id, view.id), { body, headers: { 'if-match': `"${view.version}"` } });
  } finally {
    await readViews();
  }
}

export async function removeView(view: SavedView): Promise<void> {
  await call('DELETE', pathOf(view.client_id, view.id));
  await readViews();
}

/** Begin one's own list with a view, or no longer. */
export async function setDefault(view: SavedView, isDefault: boolean): Promise<void> {
  await call(isDefault ? 'PUT' : 'DELETE', `${pathOf(view.client_id, view.id)}/default`);
  await readViews();
}

/** Whether the person may change a view. */
export function mayChange(view: SavedView): boolean {
  return view.visibility === 'private' || isAdmin.value || (view.author.id ?? null) === (session.value?.user?.id ?? null);
}

/** How addresses name a view: those of all clients have ids of their own. */
export function keyOf(view: SavedView): string {
  return `${view.client_id === null ? 'a' : ''}${view.id}`;
}

/** The view that an address names. */
export function savedOf(key: string): SavedView | undefined {
  return savedViews.value.find((each) => keyOf(each) === key);
}

/** What is saved of a view; columns in their usual state are saved as none. */
export function contentOf({ q, sort, columns, filters, widths, pinned, layout }: View, usual: readonly string[]): Content {
  const isUsual = columns.join() === usual.join() && !Object.keys(widths).length && !pinned.length;
  return {
    where: (filters.length ? { all: filters.map(([name, value]) => ({ [name]: /\[n?in\]$/.test(name) ? value.split(',') : value })) } : {}) as Content['where'],
    q,
    sort,
    columns: isUsual ? [] : columns.map((field) => ({ field, width: widths[field] ?? null, pinned: pinned.includes(field) })),
    layout,
  };
}

/** The filters of a view as those of an address; null if it has some that an address cannot have. */
function filtersOf(where: Record<string, unknown>): [string, string][] | null {
  const found: [string, string][] = [];
  for (const [name, value] of Object.entries(where)) {
    if (name === 'any' || name === 'not') return null;
    if (name !== 'all') {
      const parts = Array.isArray(value) ? value.map(String) : [];
      if (parts.some((part) => part.includes(','))) return null;
      found.push([name, Array.isArray(value) ? parts.join(',') : String(value)]);
      continue;
    }
    for (const part of value as Record<string, unknown>[]) {
      const inner = filtersOf(part);
      if (!inner) return null;
      found.push(...inner);
    }
  }
  return found;
}

/** The query of a view's address; null for filters with "any" or "not", which only requests have. */
export function addressOf(view: SavedView): [string, string][] | null {
  const all = filtersOf(view.where ?? {});
  if (!all) return null;
  if (view.q) all.push(['q', view.q]);
  if (view.sort && view.sort !== USUAL_SORT) all.push(['sort', view.sort]);
  if (view.columns?.length) all.push(['cols', view.columns.map(({ field, width, pinned }) => columnText(field, width ?? undefined, pinned)).join(',')]);
  if (view.layout === 'board') all.push(['layout', 'board']);
  return [...all, ['view', keyOf(view)]];
}

/** The query with which a list begins: the person's default view, one of the client before one of all. */
export function beginningOf(kind: 'contact' | 'company'): [string, string][] {
  const defaults = savedViews.value.filter((each) => each.is_default && each.kind === kind);
  const found = defaults.find((each) => each.client_id !== null) ?? defaults[0];
  return (found && addressOf(found)) ?? [];
}
