/** Pairs that a person said are not the same, in this browser, for a client and a kind of record. */
import { signal } from '@preact/signals';
import { client } from '../route';
import type { AnyRecord } from '../kinds/kind';
import { session } from '../session';
import type { Pair } from './types';

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

function place(many: string, of: string | undefined): string {
  return `${of || client.value || session.value?.client_id || ''}/${many}`;
}

function keyOf(one: number, other: number): string {
  return one < other ? `${one}-${other}` : `${other}-${one}`;
}

/** How many pairs of these clients are not the same. */
export function countDismissed(many: string, of: readonly (string | undefined)[]): number {
  return of.reduce((sum, each) => sum + (all.value[place(many, each)]?.length ?? 0), 0);
}

type Two = Pick<Pair<AnyRecord>, 'one' | 'other' | 'of'>;

export function isDismissed(many: string, { one, other, of }: Two): boolean {
  return all.value[place(many, of)]?.includes(keyOf(one.id, other.id)) ?? false;
}

/** Say that two records are not the same, or take that back. */
export function dismiss(many: string, { one, other, of }: Two, is = true): void {
  const key = keyOf(one.id, other.id);
  const at = place(many, of);
  const others = (read()[at] ?? []).filter((each) => each !== key);
  all.value = { ...read(), [at]: (is ? [...others, key] : others).slice(-MOST) };
  localStorage.setItem(STORED, JSON.stringify(all.value));
}
