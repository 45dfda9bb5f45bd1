/** How the team shows statuses: its list for all clients, read once a session. */
import { signal } from '@preact/signals';
import { get } from './api';
import type { Schemas } from './types';

export type Look = Schemas['TeamStatus'];
export const looks = signal<ReadonlyMap<string, Look>>(new Map());

export async function readLooks(): Promise<void> {
  const found = await get<Schemas['TeamStatuses']>('/team/v1/statuses').catch(() => null);
  if (found) looks.value = new Map(found.data.map((status) => [status.name, status]));
}
