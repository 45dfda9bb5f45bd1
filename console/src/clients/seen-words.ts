/** The words for statuses that a tool has sent, and those that no status took. */
import { get } from '../api';
import type { ListedDelivery, Page, WholeDelivery } from '../types';
import { getOf } from './requests';
import type { Channel, Connection } from './types';

export interface Word {
  text: string;
  /** Where it was seen, in words. */
  from: string;
}

export interface ListedStatus {
  name: string;
  declared: boolean;
  records: number;
  refused: number;
  stands_for: string[];
}

/** Labels are the same in any case, and with blanks for underscores. */
export function folded(label: string): string {
  return label.toLowerCase().replace(/_/g, ' ').trim();
}

/** The newest calls that are looked at for words. */
const LOOKED_AT = '25';
const OWN = 'Touchbase’s word';

/** The words of the newest calls of a tool that set a status. */
async function ofCalls(id: string, channel: Channel, tool: string, signal: AbortSignal): Promise<Word[]> {
  const events = channel === 'crm' ? ['contact.status_changed', 'company.status_changed'] : ['lead_status_changed'];
  const pages = await Promise.all(
    events.map((event) => get<Page<ListedDelivery>>('/admin/v1/deliveries', { client: id, channel, tool, event, limit: LOOKED_AT }, signal)),
  );
  const calls = await Promise.all(pages.flatMap((page) => page.data).map((each) => get<WholeDelivery>(`/admin/v1/deliveries/${each.id}`, {}, signal)));
  return calls.flatMap((each) => each.events.filter((event) => events.includes(event.event) && event.status).map((event) => ({ text: event.status ?? '', from: `Sent in webhook ${each.id}` })));
}

export interface Found {
  connection: Connection | null;
  statuses: ListedStatus[];
  words: Word[];
}

export async function readWords(id: string, channel: Channel, tool: string, connections: readonly Connection[], signal: AbortSignal): Promise<Found> {
  const connection = connections.find((each) => each.channel === channel && each.tool === tool) ?? null;
  const kinds = channel === 'crm' ? ['contacts', 'companies'] : ['contacts'];
  const [seen, ...pages] = await Promise.all([
    ofCalls(id, channel, tool, signal),
    ...kinds.map((kind) => getOf<Page<ListedStatus>>(id, `/public/v2/statuses/${kind}`, { limit: '200' }, signal)),
  ]);
  const all = new Map<string, ListedStatus>();
  for (const each of pages.flatMap((page) => page.data)) if (!all.has(each.name)) all.set(each.name, each);
  const statuses = [...all.values()];
  const targets = new Set(Object.values(connection?.settings.status_labels ?? {}).map((each) => each && folded(each)));
  const refused = statuses.filter((each) => each.refused > 0 && !each.declared).map((each) => ({ text: each.name, from: `Refused in ${each.refused} of the newest webhooks` }));
  const own = statuses.flatMap((each) => each.stands_for).map((text) => ({ text, from: OWN }));
  const words = new Map<string, Word>();
  // A status that a word became is not a word of the tool.
  for (const each of [...refused, ...seen.filter((word) => !targets.has(folded(word.text))), ...own]) if (!words.has(folded(each.text))) words.set(folded(each.text), each);
  for (const text of Object.keys(connection?.settings.status_labels ?? {})) if (!words.has(folded(text))) words.set(folded(text), { text, from: 'Mapped before' });
  return { connection, statuses: statuses.filter((each) => each.declared), words: [...words.values()] };
}
