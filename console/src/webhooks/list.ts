/** Lists of webhooks. */
import { get, Problem } from '../api';
import { client, type Query } from '../route';

/** A list of webhooks; empty for a client that does not exist yet, as in open mode before its first call. */
export async function listed<T extends { data: unknown[] }>(path: string, query: Query, none: T, signal?: AbortSignal): Promise<T> {
  try {
    return await get<T>(path, [...Object.entries(client.value ? { client: client.value } : {}), ...(Symbol.iterator in query ? query : Object.entries(query))], signal);
  } catch (error) {
    if (error instanceof Problem && error.body.errors?.some((each) => each.code === 'client_not_found')) return none;
    throw error;
  }
}
