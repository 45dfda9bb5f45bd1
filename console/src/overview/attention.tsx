/** What needs a person, of one client or of all, each with the place where it is put right. Nothing is shown where nothing is wrong. */
import { useState } from 'preact/hooks';
import { call } from '../api';
import { readAgain, useGet } from '../data';
import { SHARED } from '../endpoints/types';
import { SnoozeMenu } from '../replies/snooze';
import { href, type Query } from '../route';
import { canWrite, clients, isAdmin } from '../session';
import type { Schemas } from '../types';
import { Button, Icon, ProblemNote } from '../ui/basic';
import { useRows } from '../ui/rows';
import { toast, toastProblem } from '../ui/toast';
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
  status_refused: ({ status, records }) => ['/settings', { tab: 'statuses', records: records ?? '', name: status ?? '' }, 'Add the status', true],
  fields_left_out: ({ client_id: of, tool, channel, target_id }) => (tool === 'generic' ? [`/clients/${of ?? ''}`, { connection: `${channel}/${tool}`, field: 'fields' }, 'Map fields', true] : [`/webhooks/${target_id}`, {}, 'Look at one', true]),
  job: ({ target_id }) => [`/imports/${target_id}`, {}, 'Look at it', false],
  bad_rows: ({ target_id }) => [`/imports/${target_id}`, {}, 'Show the rows', false],
  erasure_request: () => ['/erasure', {}, 'Decide', true],
  waiting_reply: () => ['/replies', { sort: 'waiting' }, 'Answer', false],
  unsent_answer: () => ['/replies', {}, 'Look at it', false],
  stored_bytes: ({ client_id: of }) => [`/clients/${of ?? ''}`, {}, 'Show the client', true],
  key: () => ['/keys', {}, 'Rotate it', true],
};

const PATH = '/team/v1/attention';

export function useAttention(of: string) {
  return useGet<Schemas['AttentionPage']>(PATH, { limit: '100', ...(of && { client_id: of }) });
}

async function snooze(item: Item, until: string | null): Promise<void> {
  try {
    await call('PATCH', `${PATH}/${item.id}`, { body: { snoozed_until: until } });
    toast(until ? `Snoozed until ${shortTime(until)}, for the whole team.` : 'It is back in the list.', { undo: () => snooze(item, item.snoozed_until) });
  } catch (error) {
    toastProblem(error);
  } finally {
    void readAgain(PATH);
  }
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
        {item.snoozed_until && <span class="faint"> · snoozed until {shortTime(item.snoozed_until)}</span>}
      </span>
      {canWrite.value && (item.snoozed_until ? <Button onClick={() => void snooze(item, null)}>Wake</Button> : <SnoozeMenu pick={(until) => void snooze(item, until.toISOString())} />)}
      {place && (place[3] && !isAdmin.value ? <span class="faint">Ask an admin</span> : <a class="button" href={href(place[0], place[1], item.client_id ?? undefined)}>{place[2]}</a>)}
    </li>
  );
}

function Lines({ items, isAll }: { items: readonly Item[]; isAll: boolean }) {
  const rows = useRows<HTMLUListElement>();
  return (
    <ul {...rows}>
      {items.map((item) => (
        <Line key={item.id} item={item} isAll={isAll} />
      ))}
    </ul>
  );
}

function Snoozed({ of, isAll }: { of: string; isAll: boolean }) {
  const { data, error, refetch } = useGet<Schemas['AttentionPage']>(PATH, { state: 'snoozed', limit: '100', ...(of && { client_id: of }) });
  return error ? <ProblemNote problem={error} retry={() => void refetch()} /> : <Lines items={data?.data ?? []} isAll={isAll} />;
}

/** The items of a client, or of all with `of` blank; snoozed ones are read when their fold opens. */
export function Attention({ page, of, isAll }: { page: Schemas['AttentionPage'] | undefined; of: string; isAll: boolean }) {
  const [isOpen, setOpen] = useState(false);
  if (!page || (!page.data.length && !page.snoozed)) return null;
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">{`Needs you (${count(page.data.length)})`}</h2>
      <Lines items={page.data} isAll={isAll} />
      {page.snoozed > 0 && (
        <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{`${count(page.snoozed)} snoozed`}</summary>
          {isOpen && <Snoozed of={of} isAll={isAll} />}
        </details>
      )}
    </section>
  );
}
