/** The client of a row, in lists of all clients. */
import { clients, showsAll } from '../session';

export function clientName(id: string): string {
  const client = clients.value.find((each) => each.client_id === id);
  return client?.name || client?.handle || id;
}

export function ClientChip({ of }: { of: string | undefined }) {
  return showsAll.value && of ? <span class="chip">{clientName(of)}</span> : null;
}

/** The headers of a request that acts on a row's client; none where the scope has only one. */
export function asClient(of: string | undefined): { headers?: Record<string, string> } {
  return of ? { headers: { 'x-client-id': of } } : {};
}
