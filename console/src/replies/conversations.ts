/** Conversations: the list of one state, and what people do with them. A change is shown at once and offers the way back. */
import { computed, signal } from '@preact/signals';
import type { InfiniteData } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';
import { call, get, Problem } from '../api';
import { queries, readAgain, useGet, usePages, useRead, type Pages } from '../data';
import { client } from '../route';
import { choosesClient, isAdmin, session } from '../session';
import { heard, listeners, type LiveEvent } from '../stream';
import type { Page, Schemas } from '../types';
import { toast, toastProblem } from '../ui/toast';
import { personName } from '../words';

export type Conversation = Schemas['ConversationOut'];
export type WithMessages = Schemas['ConversationWithMessages'];
export type ConversationChange = Schemas['ChangeConversation'];
export type ManyChange = Schemas['ChangeEachConversation'];
export type State = 'open' | 'snoozed' | 'automatic' | 'done';
export type Filter = Record<string, string>;

export const LIST = '/team/v1/conversations';
export interface Tab {
  name: string;
  text: string;
  state: State;
  assignee?: 'me' | 'nobody';
  /** The number of its conversations; nobody counts what is done. */
  counter?: Exclude<keyof Schemas['Counters'], 'clients' | 'tasks_due'>;
}

/** The lists of conversations; only people have ones of their own. */
export function tabs(): readonly Tab[] {
  const mine: readonly Tab[] = [
    { name: 'mine', text: 'Mine', state: 'open', assignee: 'me', counter: 'mine' },
    { name: 'unassigned', text: 'Unassigned', state: 'open', assignee: 'nobody', counter: 'unassigned' },
  ];
  const isPerson = Boolean(session.value?.user);
  return [
    ...(isPerson ? mine : []),
    { name: 'open', text: isPerson ? 'All' : 'Open', state: 'open', counter: 'open' },
    { name: 'snoozed', text: 'Snoozed', state: 'snoozed', counter: 'snoozed' },
    { name: 'automatic', text: 'Automatic', state: 'automatic', counter: 'automatic' },
    { name: 'done', text: 'Done', state: 'done' },
  ];
}

export const seesPeople = computed(() => Boolean(session.value?.user) || (isAdmin.value && choosesClient.value));

/** People who may work for a client, or without one for any, by id; none for a key of one client, which may not list them. */
export function usePeople(of = ''): ReadonlyMap<string, string> {
  const found = useGet<Page<Schemas['UserOut']>>('/team/v1/users', { state: 'active', limit: '200' }, { enabled: seesPeople.value });
  const people = found.data?.data.filter(({ role, grants }) => !of || role || grants.some((grant) => grant.client_id === of));
  return new Map(people?.map(({ id, name, email }) => [id, name || email]));
}
export const LABELS = ['interested', 'meeting', 'question', 'referral', 'later', 'not_interested', 'wrong_person', 'unsubscribe', 'out_of_office', 'other'] as const;

export function keyOf({ client_id: of, contact }: Conversation): string {
  return `${of}/${contact.id}`;
}

export function nameOf({ contact }: Conversation): string {
  return personName({ id: contact.id, email: contact.email ?? '', first_name: contact.first_name ?? '', last_name: contact.last_name ?? '' });
}

export function pathOf(conversation: Conversation): string {
  return `${LIST}/${encodeURIComponent(conversation.client_id)}/${conversation.contact.id}`;
}

/** The conversations of one state; of all clients without `of`. */
export function useConversations(filter: Filter, of: string): Pages<Conversation> {
  return usePages<Conversation>(LIST, { ...filter, ...(of && { client_id: of }), limit: '50' });
}

/** Numbers of conversations; `ofEach`: the open ones of each client, too. */
export function useCounters(of: string, ofEach = false) {
  return useGet<Schemas['Counters']>('/team/v1/counters', { ...(of && { client_id: of }), ...(ofEach && { by_client: 'true' }) });
}

export function useConversation(conversation: Conversation | undefined) {
  return useGet<WithMessages>(conversation ? pathOf(conversation) : `${LIST}/none`, {}, { enabled: conversation !== undefined });
}

/** Read lists and numbers again, or of the lists only these. */
export function readConversationsAgain(...lists: readonly string[]): Promise<void> {
  return readAgain('/team/v1/counters', ...(lists.length ? lists : [LIST]));
}

/** The conversation whose change was refused last: it is shown again. */
export const refused = signal<string | null>(null);

type Lists = InfiniteData<Page<Conversation>>;
const isList = ({ queryKey: [of, key] }: { queryKey: readonly unknown[] }) => of === client.value && typeof key === 'string' && key.startsWith(`${LIST}?`);

/** The versions of conversations that a person's act took out of a list: until they have another one they are no new replies. */
const left = new Map<string, string>();

/** Replace a conversation in the lists that are shown, or take it out. */
function replace(key: string, by: Conversation | null): void {
  queries.setQueriesData<Lists>({ predicate: by ? isList : isOfState }, (found) =>
    found && { ...found, pages: found.pages.map((page) => ({ ...page, data: page.data.flatMap((each) => (keyOf(each) !== key ? [each] : by ? [by] : [])) })) },
  );
}

/** Lists of one state: a search has conversations of all. */
const isOfState = (query: { queryKey: readonly unknown[] }) => isList(query) && !`${query.queryKey[1] as string}`.includes('state=any');

/** Take a conversation out of the lists that are shown: what was done moves it to another one. */
function drop(conversation: Conversation): void {
  left.set(keyOf(conversation), conversation.version);
  replace(keyOf(conversation), null);
}

/**
 * End the reads of lists that are under way: what they bring is older than the act that follows. Returns whether there were any, which
 * must begin again after it.
 */
async function endReads(): Promise<boolean> {
  const isReading = queries.isFetching({ predicate: isList }) > 0;
  await queries.cancelQueries({ predicate: isList });
  return isReading;
}

/** Show a conversation as it is now, in its place; one that belongs to another list leaves this one, unless it is being read. */
export function settle(conversation: Conversation, stays = false): void {
  const fits = ({ queryKey: [, key] }: { queryKey: readonly unknown[] }) => {
    const wanted = new URLSearchParams(`${key as string}`.slice(LIST.length + 1));
    const assignee = wanted.get('assignee');
    const isOf = assignee === null || (conversation.assignee_id ?? 'nobody') === (assignee === 'me' ? session.value?.user?.id : assignee);
    return wanted.get('state') === 'any' || (wanted.get('state') === conversation.state && isOf);
  };
  const shown = queries.getQueryCache().findAll({ type: 'active', predicate: isList });
  const isElsewhere = shown.some((query) => !fits(query));
  if (isElsewhere && !stays) drop(conversation);
  if (!isElsewhere || stays) replace(keyOf(conversation), conversation);
  void readAgain('/team/v1/counters', pathOf(conversation));
}

/** Read a conversation again and show it in its place. */
export async function refresh(conversation: Conversation, stays = false): Promise<void> {
  settle((await call<WithMessages>('GET', pathOf(conversation))).data, stays);
}

/** Milliseconds in the pane after which a conversation counts as read. */
const READ_AFTER = 1000;

/** Mark a conversation as read once it was in the pane for a second; not if a reply came in that is not shown. */
export function useReadMark(conversation: WithMessages | undefined): void {
  const key = conversation && `${keyOf(conversation)} ${conversation.version}`;
  useEffect(() => {
    if (!conversation?.unread || !session.value?.user) return;
    const timer = setTimeout(() => {
      // Refused after another reply: the stream shows it, and the time begins again.
      call('POST', `${pathOf(conversation)}/read`, { headers: { 'if-match': `"${conversation.version}"` } }).then(() => refresh(conversation, true)).catch(() => undefined);
    }, READ_AFTER);
    return () => clearTimeout(timer);
  }, [key, conversation?.unread]);
}

/** New replies that the list does not show: the first page is read beside it, so that the list does not move. */
export function useArrivals(filter: Filter, of: string, shown: readonly Conversation[]): number {
  const [since] = useState(heard.value);
  const { data } = useRead<Page<Conversation>>(`${LIST} new ${of} ${new URLSearchParams(filter)}`, (signal) => get(LIST, { ...filter, ...(of && { client_id: of }), limit: '50' }, signal), {
    enabled: heard.value !== since,
    staleTime: Infinity,
    gcTime: 0,
  });
  const present = new Map(shown.map((each) => [keyOf(each), each.newest?.message_id]));
  return (data?.data ?? []).filter((each) => each.newest && present.get(keyOf(each)) !== each.newest.message_id && left.get(keyOf(each)) !== each.version).length;
}

/** What colleagues did with conversations that are shown, by key: it stands there for a moment before the list changes. */
export const acts = signal<ReadonlyMap<string, string>>(new Map());
/** The key of the conversation that is being read: it does not leave the list by itself. */
export const reading = signal<string | null>(null);
const ACT_SHOWN = 4000;
/** How long somebody counts as answering after the draft was stored last. */
const WRITES = 30_000;
const ACTS: Record<string, string> = { 'conversation.done': 'Done', 'conversation.reopened': 'Reopened', 'conversation.assigned': 'Assigned', 'conversation.updated': 'Changed' };

function note(key: string, text: string | null): void {
  const changed = new Map(acts.value);
  if (text === null) changed.delete(key);
  else changed.set(key, text);
  acts.value = changed;
}

/** The ends of notes that somebody is answering. */
const writers = new Map<string, number>();

/** Show what others did with conversations of the list. */
function onEvents(events: readonly LiveEvent[]): void {
  const rows = queries.getQueriesData<Lists>({ predicate: isList, type: 'active' }).flatMap(([, found]) => found?.pages.flatMap((page) => page.data) ?? []);
  if (!rows.length) return;
  for (const row of rows) {
    const own = events.filter((each) => each.record === 'contact' && each.record_id === row.contact.id && each.client_id === row.client_id);
    const act = own.findLast((each) => each.type.startsWith('conversation.'));
    if (own.some((each) => each.type.startsWith('note.'))) void readAgain(pathOf(row));
    if (!act && !own.some((each) => each.type === 'contact.status_changed' || each.type === 'presence')) continue;
    const key = keyOf(row);
    if (own.at(-1)?.type === 'presence') {
      const text = `${own.at(-1)?.actor?.name || 'Somebody'} is answering`;
      note(key, text);
      clearTimeout(writers.get(key));
      writers.set(key, window.setTimeout(() => acts.value.get(key) === text && note(key, null), WRITES));
      continue;
    }
    const isMine = !act?.actor || act.actor.id === session.value?.user?.id || !session.value?.user;
    if (isMine) {
      void refresh(row, reading.value === key).catch(() => undefined);
      continue;
    }
    note(key, `${ACTS[act.type] ?? 'Changed'} by ${act.actor?.name || 'somebody'}`);
    void readAgain(pathOf(row));
    setTimeout(() => void refresh(row, reading.value === key).then(() => reading.value === key || note(key, null), () => undefined), ACT_SHOWN);
  }
}
listeners.add(onEvents);

/** Let the conversation that was read leave the list, if a colleague has done it meanwhile. */
export function leave(conversation: Conversation): void {
  if (!acts.value.has(keyOf(conversation))) return;
  note(keyOf(conversation), null);
  settle(conversation);
}

const OLD = 'Another reply came in, or somebody changed this conversation: it is shown as it is now.';

/** Change a conversation if it still has the version that is shown; the message offers the way back, which overwrites no newer change. */
export async function change(conversation: Conversation, body: ConversationChange, said: string, back: ConversationChange, alsoBack?: () => Promise<unknown>): Promise<void> {
  const leaves = body.state !== undefined || body.snoozed_until !== undefined || body.kind !== undefined;
  const wasReading = leaves && (await endReads());
  if (leaves) drop(conversation);
  const send = async (of: Conversation, changed: ConversationChange) =>
    (await call<Conversation>('PATCH', pathOf(of), { body: changed, headers: { 'if-match': `"${of.version}"` } })).data;
  try {
    const changed = await send(conversation, body);
    settle(changed);
    if (wasReading) void readConversationsAgain();
    toast(said, {
      undo: async () => {
        try {
          await send(changed, back);
          await alsoBack?.();
        } catch (error) {
          throw error instanceof Problem && error.status === 412 ? new Problem(412, error.code, 'Not undone: another reply came in, or somebody changed this conversation since.', error.body) : error;
        } finally {
          void readConversationsAgain();
        }
      },
    });
  } catch (error) {
    void readConversationsAgain().then(() => (refused.value = keyOf(conversation)));
    toastProblem(error instanceof Problem && error.status === 412 ? new Problem(412, error.code, OLD, error.body) : error);
  }
}

export const MOST_AT_ONCE = 500;

/** Name conversations for a request, with the versions that they must have. */
export function named(conversations: readonly Conversation[]): Schemas['ConversationName'][] {
  return conversations.map(({ client_id, contact, version }) => ({ client_id, contact_id: contact.id, version }));
}

export async function bulk(changed: readonly Conversation[], change: ManyChange) {
  const isStatus = change.contact_status !== undefined;
  const conversations = named(changed).map((each, n) => ({ ...each, ...(isStatus && { contact_status: changed[n]?.contact.contact_status ?? null }) }));
  const { data } = await call<Schemas['ChangedConversations']>('POST', `${LIST}/bulk`, { body: { conversations, change } });
  return data.data;
}

/**
 * Make one change of many conversations; those that changed meanwhile stay. The message takes it back, except where somebody has changed
 * a conversation since. `back` is what a conversation had before.
 */
export async function changeMany(conversations: readonly Conversation[], body: ManyChange, done: string, back: (before: Conversation) => ManyChange): Promise<void> {
  const before = conversations.slice(0, MOST_AT_ONCE);
  const rows = await bulk(before, body);
  void readConversationsAgain();
  const left = rows.filter((row) => row.error !== null).length;
  const why = rows.find((row) => row.error !== null)?.error;
  toast(left ? `${rows.length - left} ${done}; ${left} stay: ${why}.` : `${rows.length} ${done}.`, {
    undo: async () => {
      const changes = new Map<string, { to: ManyChange; of: Conversation[] }>();
      rows.forEach(({ conversation }, n) => {
        const was = before[n];
        if (!conversation || !was) return;
        const to = back(was);
        const group = changes.get(JSON.stringify(to)) ?? { to, of: [] };
        group.of.push(conversation);
        changes.set(JSON.stringify(to), group);
      });
      const undone = (await Promise.all([...changes.values()].map(({ to, of }) => bulk(of, to)))).flat();
      void readConversationsAgain();
      const stay = undone.filter((row) => row.error !== null).length;
      if (stay) toast(`${stay} stay: somebody changed them since.`, { bad: true });
    },
  });
}
