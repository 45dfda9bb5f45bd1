/** What needs a person, of one client or of all, each with the place where it is put right. Nothing is shown where nothing is wrong. */
import { useGet } from '../data';
import { SHARED } from '../endpoints/types';
import { href, type Query } from '../route';
import { clients, isAdmin } from '../session';
import type { Page, Schemas } from '../types';
import { Icon } from '../ui/basic';
import { capital, count, shortTime, toolName } from '../words';

export type Item = Schemas['AttentionItem'];

/** The screen where each kind is put right: its address, what the link says, and whether only administrators see it. */
const PLACES: Record<string, (item: Item) => readonly [path: string, query: Query, action: string, forAdmins: boolean]> = {
  refused_webhooks: ({ client_id: of, tool, channel }) => [`/clients/${of ?? ''}`, { connection: `${channel}/${tool}`, field: 'secret' }, 'Enter secret', true],
  unknown_client: () => ['/webhooks', { tab: 'refused', cause: 'unknown_client' }, 'Show address', true],
  endpoint: ({ client_id: of, target_id }) => [`/endpoints/${of === null ? SHARED : ''}${target_id}`, {}, 'Open endpoint', true],
  silent_connection: ({ tool }) => ['/webhooks', { tool: tool ?? '' }, 'Look', true],
  fetching: ({ client_id: of, tool }) => [`/clients/${of ?? ''}`, { connection: `crm/${tool}`, field: 'token' }, 'Enter token', true],
  not_applied: ({ target_id }) => [`/webhooks/${target_id}`, { tab: 'problems' }, 'Look at one', true],
  not_recognised: ({ target_id }) => [`/webhooks/${target_id}`, { tab: 'problems' }, 'Map fields', true],
  job: ({ target_id }) => [`/imports/${target_id}`, {}, 'Look at it', false],
  erasure_request: () => ['/erasure', {}, 'Decide', true],
  waiting_reply: () => ['/replies', { sort: 'waiting' }, 'Answer', false],
  unsent_answer: () => ['/replies', {}, 'Look at it', false],
  stored_bytes: ({ client_id: of }) => [`/clients/${of ?? ''}`, {}, 'Show the client', true],
  key: () => ['/keys', {}, 'Rotate it', true],
};

export function useAttention(of: string) {
  return useGet<Page<Item>>('/team/v1/attention', { limit: '100', ...(of && { client_id: of }) });
}

function Line({ item, isAll }: { item: Item; isAll: boolean }) {
  const place = PLACES[item.kind]?.(item);
  const client = clients.value.find(({ client_id: id }) => id === item.client_id);
  const named = item.tool ? item.title.replace(item.tool, toolName(item.tool)) : item.title;
  return (
    <li class={item.severity}>
      <Icon name={item.severity === 'critical' ? 'warning' : 'dot'} />
      <span>
        {isAll && item.client_id && <span class="chip">{client?.name || item.client_id}</span>} {capital(named)}
        {item.since && <span class="faint"> · since {shortTime(item.since)}</span>}
      </span>
      {place && (place[3] && !isAdmin.value ? <span class="faint">Ask an admin</span> : <a class="button" href={href(place[0], place[1], item.client_id ?? undefined)}>{place[2]}</a>)}
    </li>
  );
}

export function Attention({ items, isAll }: { items: readonly Item[]; isAll: boolean }) {
  if (!items.length) return null;
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">{`Needs you (${count(items.length)})`}</h2>
      <ul>
        {items.map((item) => (
          <Line key={`${item.kind} ${item.client_id} ${item.tool} ${item.target_id} ${item.title}`} item={item} isAll={isAll} />
        ))}
      </ul>
    </section>
  );
}
