/** Statuses and states: a hue, a shape by their group, and the word. No meaning is in the hue alone. */
import type { ComponentChildren } from 'preact';
import { looks } from '../looks';
import type { Status } from '../types';
import { words } from '../words';
import { Icon } from './basic';

export type Hue = 'grey' | 'blue' | 'teal' | 'violet' | 'pink' | 'green' | 'lime' | 'amber' | 'orange' | 'red';
export type Group = keyof typeof SHAPES;

const SHAPES = { new: 'new', active: 'active', won: 'check', lost: 'lost', blocked: 'ban' } as const;

const USUAL: Record<string, readonly [Hue, Group]> = {
  // A status may be called "constructor".
  __proto__: null as never,
  new: ['grey', 'new'], target: ['blue', 'new'], contacted: ['blue', 'active'], opened: ['teal', 'active'], replied: ['green', 'active'], interested: ['lime', 'active'],
  meeting_booked: ['violet', 'won'], customer: ['green', 'won'], won: ['green', 'won'], lost: ['red', 'lost'], bounced: ['orange', 'lost'],
  not_interested: ['orange', 'lost'], wrong_person: ['grey', 'lost'], maybe_later: ['amber', 'active'], out_of_office: ['grey', 'active'],
  do_not_contact: ['red', 'blocked'], unsubscribed: ['red', 'blocked'],
  received: ['blue', 'new'], parked: ['amber', 'active'], unrecognised: ['amber', 'lost'], applied: ['green', 'won'], ignored: ['grey', 'won'], failed: ['red', 'lost'],
  invited: ['blue', 'new'], active: ['green', 'won'], suspended: ['amber', 'lost'], deleting: ['red', 'blocked'], silent: ['amber', 'lost'], expired: ['grey', 'lost'], revoked: ['red', 'blocked'],
};
const HUES: readonly Hue[] = ['blue', 'teal', 'violet', 'pink', 'lime', 'amber'];

/** The hue and the group of a status: the same word has the same ones everywhere. */
export function lookOf(status: string): readonly [Hue, Group] {
  const chosen = looks.value.get(status);
  if (chosen) return [chosen.color ?? 'grey', chosen.group ?? 'active'];
  const usual = USUAL[status];
  if (usual || !status) return usual ?? ['grey', 'new'];
  let sum = 0;
  for (const letter of status) sum = (sum * 31 + letter.charCodeAt(0)) % 9973;
  return [HUES[sum % HUES.length] ?? 'grey', 'active'];
}

export function hueOf(status: string): Hue {
  return lookOf(status)[0];
}

export function Mark({ hue, group, children }: { hue: Hue; group: Group; children: ComponentChildren }) {
  return (
    <span class={`status hue-${hue}`}>
      <Icon name={SHAPES[group]} />
      <span class="cut">{children}</span>
    </span>
  );
}

export function StatusMark({ status }: { status: string | null | undefined }) {
  if (!status) return <span class="absent">No status</span>;
  const [hue, group] = lookOf(status);
  return (
    <Mark hue={hue} group={group}>
      {looks.value.get(status)?.label || words(status)}
    </Mark>
  );
}

export const MOST_KEYS = 9;
/** What digits set in the list of all clients where the team has chosen no keys: the same word in each client. */
const ALIKE = ['interested', 'meeting_booked', 'maybe_later', 'not_interested', 'wrong_person', 'customer', 'replied', 'contacted', 'new'];

/** The statuses that digits set: those with a key of the team's, else the first ones; `alike`: those which every client has. */
export function withDigits(all: readonly Status[], alike = false): readonly Status[] {
  const chosen = all.filter(({ look }) => look?.key).sort((a, b) => (a.look?.key ?? 0) - (b.look?.key ?? 0));
  const usual = alike ? ALIKE.flatMap((name) => all.find((status) => status.name === name) ?? []) : all;
  return (chosen.length ? chosen : usual).slice(0, MOST_KEYS);
}

/** The digit that sets a status: the team's, else its place. */
export function digitOf(status: Status, place: number, alike = false): number {
  return status.look?.key ?? (alike ? ALIKE.indexOf(status.name) : place) + 1;
}
