/** Live changes: one stream of the API's events for all tabs. The tab that has the lock reads it and passes the events on. */
import { signal } from '@preact/signals';
import { Problem, send } from './api';
import { readAgain } from './data';

export interface LiveEvent {
  type: string;
  client: string;
  /** The id of the contact or company that an event of such a type is about. */
  id: number | undefined;
}

interface Logged {
  type: string;
  data: { object?: { id?: number } };
}

/** Messages that arrived since the list of replies was read. */
export const arrived = signal(0);
/** Called with the events of the last moment. */
export const listeners = new Set<(events: readonly LiveEvent[]) => void>();

const TABS = new BroadcastChannel('touchbase-events');
/** Time between two looks at what came: an import of a thousand rows is one look, not a thousand. */
const GATHER = 1000;
const AGAIN = 2000;
const LATER = 30_000;

let gathered: LiveEvent[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
let shown = '';

function take(event: LiveEvent): void {
  if (event.client !== shown) return;
  gathered.push(event);
  timer ??= setTimeout(apply, GATHER);
}

function apply(): void {
  const events = gathered;
  gathered = [];
  timer = undefined;
  const types = new Set(events.map((each) => each.type.split('.')[0]));
  arrived.value += events.filter((each) => each.type === 'message.received').length;
  for (const kind of ['contact', 'company'] as const) {
    const many = kind === 'contact' ? 'contacts' : 'companies';
    const ids = new Set(events.filter((each) => each.type.startsWith(`${kind}.`)).map((each) => each.id));
    if (ids.size) readAgain(...[...ids].map((id) => `/public/v2/${many}/${id}`), `/public/v2/${many}?id[in]`, `/public/v2/statuses/${many}`);
  }
  if (types.has('status')) readAgain('/public/v2/statuses');
  if (types.has('suppression')) readAgain('/public/v2/suppressions');
  if (types.has('delivery') || types.has('connection')) readAgain('/admin/v1/ attention');
  readAgain('/admin/v1/deliveries');
  listeners.forEach((each) => each(events));
}

TABS.onmessage = ({ data }: MessageEvent<LiveEvent>) => take(data);

/** Follow the events of a client; returns how to stop. */
export function follow(client: string): () => void {
  const abort = new AbortController();
  shown = client;
  arrived.value = 0;
  const run = () => read(client, abort.signal);
  // Browsers give locks to pages of HTTPS and of this machine only; without them each tab reads by itself.
  const done = 'locks' in navigator ? navigator.locks.request(`touchbase-events ${client}`, { signal: abort.signal }, run) : run();
  done.catch(() => undefined);
  return () => abort.abort();
}

async function read(client: string, stop: AbortSignal): Promise<void> {
  let last = '';
  while (!stop.aborted) {
    let wait = AGAIN;
    try {
      const headers: Record<string, string> = { accept: 'text/event-stream', ...(client && { 'x-client-id': client }), ...(last && { 'last-event-id': last }) };
      const { body } = await send('GET', '/public/v2/events', { query: { after: 'latest' }, headers, signal: stop });
      if (body) last = await pieces(client, body, last);
    } catch (error) {
      if (error instanceof Problem && error.status === 410) last = '';
      // A client before its first webhook has no events; too many readers are refused; both may change.
      else if (error instanceof Problem && error.status >= 400) wait = LATER;
    }
    if (!stop.aborted) await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** Read a stream to its end; returns the id of the last event. */
async function pieces(client: string, body: ReadableStream<Uint8Array>, before: string): Promise<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let last = before;
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return last;
    const parts = (text + value).split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const fields = new Map(part.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
      last = fields.get('id') ?? last;
      if (!fields.has('id') || !fields.has('data')) continue;
      const { type, data } = JSON.parse(fields.get('data') ?? '') as Logged;
      const event = { type, client, id: data.object?.id };
      TABS.postMessage(event);
      take(event);
    }
  }
}
