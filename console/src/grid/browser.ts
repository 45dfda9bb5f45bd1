/** Views that an earlier version kept in this browser, until they are saved on the server or removed. */
import { signal } from '@preact/signals';
import type { AnyRecord, Kind } from '../kinds/kind';
import { client } from '../route';
import { session } from '../session';
import { contentOf, LONGEST, saveView } from './saved';
import { viewOf } from './view';

interface Kept {
  name: string;
  query: [string, string][];
}

const STORED = 'touchbase-views';

function read(): Record<string, Kept[]> {
  try {
    const found = JSON.parse(localStorage.getItem(STORED) ?? '{}') as Record<string, Kept[]>;
    const isKept = (each: Kept) => typeof each.name === 'string' && Array.isArray(each.query) && each.query.every((pair) => Array.isArray(pair) && pair.length === 2);
    return Object.fromEntries(Object.entries(found).filter(([, views]) => Array.isArray(views) && views.every(isKept)));
  } catch {
    return {}; // what another version or a person wrote there is not worth a broken page
  }
}

const all = signal(read());

function place(many: string): string {
  return `${client.value || session.value?.client_id || ''}/${many}`;
}

export function browserViews(many: string): readonly Kept[] {
  return all.value[place(many)] ?? [];
}

export function forget(many: string, count = Infinity): void {
  const rest = browserViews(many).slice(count);
  const { [place(many)]: _, ...others } = read();
  all.value = rest.length ? { ...others, [place(many)]: [...rest] } : others;
  localStorage.setItem(STORED, JSON.stringify(all.value));
}

/** Save all of them as the person's own; each is removed here once it is saved. Raise `Problem`. */
export async function saveAll(kind: Kind<AnyRecord>): Promise<void> {
  for (const { name, query } of browserViews(kind.many)) {
    await saveView({ name: name.slice(0, LONGEST), kind: kind.one, visibility: 'private', ...contentOf(viewOf(kind, new URLSearchParams(query)), kind.usual) });
    forget(kind.many, 1);
  }
}
