/** Requests to the public and the admin API, as other programs send them, with the session in place of a key. */
import { signal } from '@preact/signals';
import { client, root, type Query } from './route';

export interface Fault {
  pointer: string;
  code: string;
  detail: string;
}

interface ProblemBody {
  status?: number;
  code?: string;
  detail?: string;
  title?: string;
  request_id?: string;
  errors?: Fault[];
  existing_id?: number;
  affected?: number;
}

/** An error response: what the API says of it, in its own words. */
export class Problem extends Error {
  constructor(readonly status: number, readonly code: string, detail: string, readonly body: ProblemBody = {}) {
    super(detail);
  }
}

export interface Answer<T> {
  data: T;
  headers: Headers;
}

export interface Asked {
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** Whether the server answered the last request at all. */
export const reachable = signal(true);
/** Called when the session is over. */
export const onSessionEnd: { call: (reason: string) => void } = { call: () => undefined };
/** How often somebody signed in on this page: a late response to a request of the session before does not end this one. */
export const sessions = { count: 0 };

/** Paths whose change is an edit of one record or conversation. */
const EDITED = /^\/(public\/v2\/(contacts|companies)\/\d+|team\/v1\/conversations\/([^/]+)\/\d+)$/;
const EDIT = 'touchbase-edit';

/** The person's last edit in this tab: the request that made it, of which client, and when. */
export interface Edit {
  client: string;
  request: string;
  at: number;
}

function noteEdit(path: string, request: string | null): void {
  const named = EDITED.exec(path)?.[3];
  const edit = { client: named === undefined ? client.value : decodeURIComponent(named), request, at: Date.now() };
  if (request) sessionStorage.setItem(EDIT, JSON.stringify(edit));
}

/** Return the last edit, also after a reload; null: there is none, or it was undone. */
export function lastEdit(): Edit | null {
  return JSON.parse(sessionStorage.getItem(EDIT) ?? 'null') as Edit | null;
}

export function forgetEdit(): void {
  sessionStorage.removeItem(EDIT);
}

/** Return the address of a request. */
export function address(path: string, query: Query = {}): string {
  const text = new URLSearchParams(Symbol.iterator in query ? [...query].map(([name, value]) => [name, value]) : query).toString();
  return root + path + (text && `?${text}`);
}

/** Send a request; raise `Problem`. */
export async function call<T>(method: string, path: string, asked: Asked = {}): Promise<Answer<T>> {
  const response = await send(method, path, asked);
  const text = await response.text();
  if (method === 'PATCH' && EDITED.test(path)) noteEdit(path, response.headers.get('x-request-id'));
  return { data: (text ? JSON.parse(text) : undefined) as T, headers: response.headers };
}

/** Send a request and return the response, for bodies that are files. */
export async function send(method: string, path: string, asked: Asked = {}): Promise<Response> {
  const headers: Record<string, string> = { 'x-touchbase-console': '1', ...asked.headers };
  if (/^\/(public|admin)\//.test(path) && client.value) headers['x-client-id'] ??= client.value;
  const init: RequestInit = { method, headers, credentials: 'same-origin', cache: 'no-store', redirect: 'error' };
  if (asked.signal) init.signal = asked.signal;
  if (asked.body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(asked.body);
  }
  const of = sessions.count;
  let response: Response;
  try {
    response = await fetch(address(path, asked.query), init);
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    reachable.value = false;
    throw new Problem(0, 'unreachable', 'The server does not answer. It may be restarting; try again in a moment.');
  }
  reachable.value = true;
  if (!response.ok) throw await problemOf(response, of);
  return response;
}

/** Send a file, and say how much of it has left; `fetch` cannot say that. Raise `Problem`. */
export function upload<T>(path: string, query: Query, file: File, sent: (share: number) => void, stop: AbortSignal): Promise<T> {
  const of = sessions.count;
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', address(path, query));
    request.setRequestHeader('x-touchbase-console', '1');
    request.setRequestHeader('content-type', 'application/octet-stream');
    if (client.value) request.setRequestHeader('x-client-id', client.value);
    request.upload.onprogress = (event) => event.lengthComputable && sent(event.loaded / event.total);
    request.onerror = () => reject(new Problem(0, 'unreachable', 'The upload was interrupted: the server does not answer, or it refused the file before its end. Try again.'));
    request.onabort = () => reject(new Problem(0, 'stopped', 'The upload was stopped. Nothing was written.'));
    request.onload = () => {
      reachable.value = true;
      const response = new Response(request.status === 204 ? null : request.responseText, { status: request.status });
      if (response.ok) resolve(JSON.parse(request.responseText) as T);
      else void problemOf(response, of).then(reject);
    };
    stop.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}

/** `of`: the session of the request. */
async function problemOf(response: Response, of: number): Promise<Problem> {
  let body: ProblemBody = {};
  let said = `The server answered ${response.status}.`;
  try {
    body = (await response.json()) as ProblemBody;
  } catch {
    // A proxy answers with a page of its own.
    said = `The server in front of Touchbase answered ${response.status}. Try again in a moment.`;
  }
  // A browser whose session is over sends no key: its person has never had one.
  if (response.status === 401 && body.detail?.startsWith('this request needs a key')) body.detail = 'Your session has ended. Sign in to go on; what you typed is still there.';
  const problem = new Problem(response.status, body.code ?? 'error', body.detail ?? said, body);
  if (problem.status === 401 && of === sessions.count && !response.url.endsWith('/console/session')) onSessionEnd.call(problem.message);
  return problem;
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await call<T>('GET', path, { query, signal })).data;
}

/** Read something that is then changed: its data, and the headers of a change that somebody else's refuses. */
export async function getForChange<T>(path: string): Promise<{ data: T; unchanged: Record<string, string> }> {
  const { data, headers } = await call<T>('GET', path);
  return { data, unchanged: { 'if-match': headers.get('etag') ?? '*' } };
}

export async function post<T>(path: string, body?: unknown, query: Query = {}): Promise<T> {
  return (await call<T>('POST', path, body === undefined ? { query } : { query, body })).data;
}

/** Return any error as a problem to show. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, 'console', `The console made a mistake: ${error instanceof Error ? error.message : String(error)}`);
}

/** A key for `Idempotency-Key`. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
