/** Requests about one client, whichever client is chosen. */
import { call, get, Problem } from '../api';
import { root, type Query } from '../route';
import type { ListedDelivery, Page } from '../types';
import type { Channel, Connection } from './types';

/** The address of a client, or of something below it. */
export function clientPath(id: string, below = ''): string {
  return `/admin/v1/clients/${encodeURIComponent(id)}${below}`;
}

export function connectionPath(id: string, of: { channel: string; tool: string }, below = ''): string {
  return clientPath(id, `/connections/${of.channel}/${encodeURIComponent(of.tool)}${below}`);
}

/** Read from the public API for a client. */
export async function getOf<T>(id: string, path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await call<T>('GET', path, { query, signal, headers: { 'x-client-id': id } })).data;
}

/** Send to the public API for a client; `version`: that what is changed must still have. */
export async function sendOf<T>(id: string, method: string, path: string, body?: unknown, query: Query = {}, version?: string): Promise<T> {
  const asked = { query, headers: { 'x-client-id': id, ...(version && { 'if-match': `"${version}"` }) } };
  return (await call<T>(method, path, body === undefined ? asked : { ...asked, body })).data;
}

export async function connectionsOf(id: string, signal?: AbortSignal): Promise<Connection[]> {
  return (await get<{ data: Connection[] }>(clientPath(id, '/connections'), {}, signal)).data;
}

/** The newest calls of a client; none for a client that does not exist before its first call, as in open mode. */
export async function callsOf(id: string, query: Record<string, string>, signal?: AbortSignal): Promise<ListedDelivery[]> {
  try {
    return (await get<Page<ListedDelivery>>('/admin/v1/deliveries', { client: id, ...query }, signal)).data;
  } catch (error) {
    if (error instanceof Problem && error.body.errors?.some((each) => each.code === 'client_not_found')) return [];
    throw error;
  }
}

/** The address that tools of a channel send to. */
export function webhookAddress(id: string, channel: Channel): string {
  return `${location.origin}${webhookPath(id, channel)}`;
}

export function webhookPath(id: string, channel: Channel): string {
  return `${root}/public/${channel === 'crm' ? 'crm' : 'emailcampaign'}-webhook/${encodeURIComponent(id)}`;
}
