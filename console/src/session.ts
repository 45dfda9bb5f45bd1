/** Who is signed in, and for which client. */
import { batch, computed, signal } from '@preact/signals';
import { asProblem, call, get, onSessionEnd, sessions, type Problem } from './api';
import { queries } from './data';
import { client, learn, tidy, unknownNames } from './route';
import type { Client, KnownClient, Page, Session } from './types';

export const session = signal<Session | null>(null);
export const startProblem = signal<Problem | null>(null);
/** Why the person must sign in again; empty at the first time. */
export const endedBecause = signal('');
export const clients = signal<KnownClient[]>([]);
/** Whether the list of clients has been read; before, it is empty because nobody has asked. */
export const areClientsKnown = signal(false);

/** What may be done for the chosen client: a person's role may differ from client to client. */
const scopes = computed(() => clients.value.find((each) => each.client_id === client.value)?.scopes ?? session.value?.scopes ?? []);
export const canWrite = computed(() => scopes.value.includes('records:write'));
export const canRead = computed(() => scopes.value.includes('records:read'));
/** A key that reads exports, too; a person needs to be an operator. */
export const mayExport = computed(() => canWrite.value || !session.value?.user);
export const isAdmin = computed(() => scopes.value.includes('admin'));
/** A key that writes defines custom fields, too; a person needs to be an administrator. */
export const definesFields = computed(() => isAdmin.value || (canWrite.value && !session.value?.user));
/** Whether the person chooses among clients. */
export const choosesClient = computed(() => session.value !== null && session.value.client_id === null);
/** Whether the caller sees all clients, also later ones. */
export const seesEveryClient = computed(() => choosesClient.value && (session.value?.clients ?? null) === null);
/** Whether all clients are shown, and not the only one. */
export const showsAll = computed(() => choosesClient.value && client.value === '');

/** Milliseconds that the first text waits for its font. */
const PATIENCE = 500;

function rest(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Ask the server who this browser is. */
export async function start(): Promise<void> {
  try {
    // With Inter there before the first text, no line moves when it arrives.
    const [{ data }] = await Promise.all([call<Session>('GET', '/console/session'), Promise.race([document.fonts.load("14px 'Inter Variable'"), rest(PATIENCE)])]);
    await use(data);
  } catch (error) {
    startProblem.value = asProblem(error);
  }
}

/** A key, an e-mail address with its password, or the secret of a link. */
export type Credentials = { key: string } | { email: string; password: string } | { link: string };

export async function signIn(body: Credentials): Promise<void> {
  await enter((await call<Session>('POST', '/console/session', { body })).data);
}

/** Go on if the person has signed in in another tab. */
export async function resume(): Promise<void> {
  const found = await get<Session>('/console/session');
  if (found.signed_in) await enter(found);
}

async function enter(found: Session): Promise<void> {
  const before = session.value;
  sessions.count += 1;
  // Another key or person may see less: nothing of what was read before is shown to it.
  if (before?.key_name !== found.key_name || before.user?.id !== found.user?.id || before.client_id !== found.client_id || `${before.scopes}` !== `${found.scopes}`) queries.clear();
  await use(found);
  endedBecause.value = '';
  void queries.invalidateQueries();
}

/** While a person signs out, a read that is refused is no reason to ask for another sign-in. */
let isLeaving = false;

export async function signOut(): Promise<void> {
  const known = session.value;
  isLeaving = true;
  try {
    await call('DELETE', '/console/session');
    const ways = await get<Session>('/console/session').catch(() => known);
    localStorage.removeItem('touchbase-client');
    // In one step: a screen that were still there would read again, be refused, and ask to sign in over itself.
    batch(() => {
      endedBecause.value = '';
      client.value = '';
      clients.value = [];
      if (ways) session.value = { ...ways, signed_in: false, scopes: [] };
    });
    queries.clear();
  } finally {
    isLeaving = false;
  }
}

async function use(found: Session): Promise<void> {
  startProblem.value = null;
  if (!found.signed_in) {
    session.value = found;
    return;
  }
  const named = await Promise.all(unknownNames().map(async (name) => (await get<Session>('/console/session', { client: name })).client));
  const addressed = named.filter((each) => each !== null);
  learn(addressed);
  if (found.client_id !== null) {
    client.value = '';
    clients.value = found.clients ?? [{ client_id: found.client_id, name: '' }];
  } else if (found.clients) {
    // Of very many clients the session lists the first; the address may name another one.
    const listed = found.clients;
    clients.value = [...listed, ...addressed.filter((each) => !listed.some((other) => other.client_id === each.client_id))];
    learn(listed);
    if (!clients.value.some((each) => each.client_id === client.value)) client.value = '';
  } else {
    const listed = listClients(found);
    // A client that the address names is shown at once; its name follows.
    if (client.value) listed.catch((error: unknown) => (startProblem.value = asProblem(error)));
    else await listed;
  }
  tidy();
  session.value = found;
}

/** Pages of clients that are read at most. */
const PAGES = 50;
let listing = 0;

/** Load the clients to choose from, the first page at once; an only one is chosen, and none where the chosen one is gone. */
async function listClients(found: Session): Promise<void> {
  const now = ++listing;
  if (!found.scopes.includes('admin')) {
    clients.value = [];
    if (!client.value && !found.keys_needed) client.value = 'default';
    return;
  }
  const page = await get<Page<Client>>('/admin/v1/clients', { limit: '200' });
  clients.value = page.data;
  areClientsKnown.value = true;
  learn(page.data);
  if (!client.value && page.data.length < 2) client.value = page.data[0]?.client_id ?? (found.keys_needed ? '' : 'default');
  const rest = listRest(page, now).then(() => {
    const isGone = found.keys_needed && now === listing && !clients.value.some((each) => each.client_id === client.value);
    if (isGone) client.value = '';
    tidy();
  });
  if (page.next_cursor) rest.catch(() => undefined); // the first page is there; the others come with the next start
  else await rest;
}

async function listRest(first: Page<Client>, now: number): Promise<void> {
  const all = [...first.data];
  let next = first.next_cursor;
  for (let n = 1; next && n < PAGES && now === listing; n++) {
    const page: Page<Client> = await get<Page<Client>>('/admin/v1/clients', { limit: '200', cursor: next });
    all.push(...page.data);
    next = page.next_cursor;
  }
  if (now !== listing) return;
  clients.value = all;
  learn(all);
}

/** List the clients again, after one was made, renamed or removed. */
export async function refreshClients(): Promise<void> {
  const known = session.value;
  if (known && known.client_id === null && !known.clients) await listClients(known);
}

onSessionEnd.call = (reason) => {
  const known = session.value;
  if (!known?.signed_in || !known.keys_needed || isLeaving) return;
  endedBecause.value = reason;
  session.value = { ...known, signed_in: false };
};
