/** Pairs that a person said are not the same, in this browser, for a client and a kind of record. */
import { signal } from '@preact/signals';
import { client } from '../route';
import { session } from '../session';

const STORED = 'touchbase-not-the-same';
const MOST = 2000;

type All = Record<string, string[]>;

function read(): All {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(STORED) ?? '{}');
    if (typeof found !== 'object' || found === null) return {};
    return Object.fromEntries(Object.entries(found).filter(([, pairs]) => Array.isArray(pairs) && pairs.every((each) => typeof each === 'string'))) as All;
  } catch {
    return {}; // what another version or a person wrote there is not worth a broken page
  }
}

const all = signal(read());
addEventListener('storage', (event) => event.key === STORED && (all.value = read()));

function place(many: string): string {
  return `${client.value || session.value?.client_id || ''}/${many}`;
}

function keyOf(one: number, other: number): string {
  return one < other ? `${one}-${other}` : `${other}-${one}`;
}

export function dismissed(many: string): ReadonlySet<string> {
  return new Set(all.value[place(many)] ?? []);
}

export function isDismissed(known: ReadonlySet<string>, one: number, other: number): boolean {
  return known.has(keyOf(one, other));
}

/** Say that two records are not the same, or take that back. */
export function dismiss(many: string, one: number, other: number, is = true): void {
  const key = keyOf(one, other);
  const others = (read()[place(many)] ?? []).filter((each) => each !== key);
  all.value = { ...read(), [place(many)]: (is ? [...others, key] : others).slice(-MOST) };
  localStorage.setItem(STORED, JSON.stringify(all.value));
}
