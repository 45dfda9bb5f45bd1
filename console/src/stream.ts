/** Live changes of all clients that the person may see: one stream for all tabs. The tab that has the lock reads it and passes them on. */
import { signal } from '@preact/signals';
import { Problem, reachable, send } from './api';
import { queries, readAgain } from './data';
import { client, root } from './route';
import { session, showsAll } from './session';
import type { Schemas } from './types';

export interface LiveEvent {
  /** The type of an event of the log, `many`, `attention.changed`, `access.changed`, `presence`, or `ready` at the beginning of a stream. */
  type: string;
  client_id?: string;
  record?: 'contact' | 'company';
  record_id?: number;
  actor?: Schemas['Actor'];
}

/** Goes up with each change that may bring a conversation into a list. */
export const heard = signal(0);
/** Called with the events of the last moment, of all clients. */
export const listeners = new Set<(events: readonly LiveEvent[]) => void>();

const TABS = new BroadcastChannel('touchbase-changes');
/** Time between two looks at what came: an import of a thousand rows is a few looks, not a thousand. */
const GATHER = 300;
const AGAIN = 2000;
const LATER = 30_000;

let gathered: LiveEvent[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
let wasReady = false;

function take(event: LiveEvent): void {
  gathered.push(event);
  timer ??= setTimeout(apply, GATHER);
}

/** Whether an event is of a client that is shown. */
export function isShown({ client_id: of }: LiveEvent): boolean {
  return showsAll.value || of === (client.value || session.value?.client_id || 'default');
}

function apply(): void {
  const events = gathered;
  gathered = [];
  timer = undefined;
  const is = (...names: string[]) => (each: LiveEvent) => names.includes(each.type) || names.includes(each.type.split('.')[0] ?? '');
  if (events.some(is('message', 'conversation', 'many', 'access', 'ready'))) {
    heard.value += 1;
    readAgain('/team/v1/counters', '/team/v1/conversations new');
  }
  if (events.some(is('task', 'many', 'contact.merged', 'contact.deleted', 'contact.restored'))) readAgain('/team/v1/counters', '/team/v1/tasks');
  if (events.some(is('attention', 'access', 'delivery', 'connection', 'many'))) readAgain('/team/v1/attention', '/team/v1/counters');
  // After a gap everything that is shown is read again, but for the lists of replies, which say that there is more.
  if (events.some(is('access')) || (wasReady && events.some(is('ready'))))
    void queries.invalidateQueries({ predicate: ({ queryKey: [, key] }) => !`${key as string}`.startsWith('/team/v1/conversations?') });
  wasReady ||= events.some(is('ready'));
  // Another tab may read the stream.
  if (events.some(is('ready'))) reachable.value = true;
  const shown = events.filter((each) => isShown(each) && each.type !== 'presence');
  const hasMany = shown.some(is('many'));
  for (const kind of ['contact', 'company'] as const) {
    const many = kind === 'contact' ? 'contacts' : 'companies';
    const ids = new Set(shown.filter((each) => each.record === kind).map((each) => each.record_id));
    if (hasMany) readAgain(`/public/v2/${many}`, `/public/v2/statuses/${many}`);
    else if (ids.size) readAgain(...[...ids].map((id) => `/public/v2/${many}/${id}`), `/public/v2/${many}?id[in]`, `/public/v2/statuses/${many}`);
  }
  if (shown.some(is('status'))) readAgain('/public/v2/statuses');
  if (shown.some(is('suppression'))) readAgain('/public/v2/suppressions');
  if (shown.length) readAgain('/admin/v1/deliveries');
  listeners.forEach((each) => each(events));
}

TABS.onmessage = ({ data }: MessageEvent<LiveEvent>) => take(data);

/** Follow what changes; returns how to stop. */
export function follow(): () => void {
  const abort = new AbortController();
  const run = () => read(abort.signal);
  // Browsers give locks to pages of HTTPS and of this machine only; without them each tab reads by itself.
  const done = 'locks' in navigator ? navigator.locks.request(`touchbase-changes ${root}`, { signal: abort.signal }, run) : run();
  done.catch(() => undefined);
  return () => abort.abort();
}

async function read(stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    let wait = AGAIN;
    try {
      const { body } = await send('GET', '/team/v1/stream', { headers: { accept: 'text/event-stream' }, signal: stop });
      if (body && (await pieces(body))) wait = 0;
    } catch (error) {
      // Too many readers are refused, and so is a session that has ended; both may change.
      if (error instanceof Problem && error.status >= 400) wait = LATER;
    }
    if (!stop.aborted) await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** Read a stream to its end; returns whether the server said why it ended, which the next request says too. */
async function pieces(body: ReadableStream<Uint8Array>): Promise<boolean> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = '';
  let isOver = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return isOver;
    const parts = (text + value).split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const fields = new Map(part.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
      const name = fields.get('event');
      isOver ||= name === 'error';
      if (name !== 'ready' && name !== 'change') continue;
      const event = name === 'ready' ? { type: 'ready' } : (JSON.parse(fields.get('data') ?? '') as LiveEvent);
      TABS.postMessage(event);
      take(event);
    }
  }
}
