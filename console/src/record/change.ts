/** Changes of one record: shown at once, made only if nobody changed the record meanwhile, with a way back. */
import { call, Problem } from '../api';
import { queries, readAgain } from '../data';
import type { AnyRecord, Kind } from '../kinds/kind';
import { toast } from '../ui/toast';

type Api = Pick<Kind<AnyRecord>, 'api'>;

/** The ETag of the record that is shown: the API makes it of the time of its last change. */
export function etagOf({ updated_time }: AnyRecord): string {
  const [, whole = updated_time, fraction = ''] = /^([^.]*?)(?:\.(\d+))?Z$/.exec(updated_time) ?? [];
  const micros = BigInt(Date.parse(`${whole}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
  return `"${micros.toString(16)}"`;
}

/** What is read of records, with another state of one. */
function withRecord(found: unknown, id: number, change: object): unknown {
  if (found instanceof Map && found.has(id)) return new Map(found).set(id, { ...(found.get(id) as object), ...change });
  if (typeof found !== 'object' || found === null || !('record' in found)) return found;
  const record = found.record as AnyRecord;
  return record.id === id ? { ...found, record: { ...record, ...change } } : found;
}

function show(kind: Api, id: number, change: object): void {
  queries.setQueriesData({ predicate: ({ queryKey: [, key] }) => typeof key === 'string' && key.startsWith(kind.api) }, (found: unknown) => withRecord(found, id, change));
}

/** Change members of a record; raise `Problem`, also if it has changed since it was read. The message offers the way back. */
export async function change(kind: Api, record: AnyRecord, body: object, back: object, said: string): Promise<void> {
  // A record has no member for what is absent: what the body names and an answer lacks is no longer there.
  const absent = Object.fromEntries(Object.keys(body).map((name) => [name, undefined]));
  show(kind, record.id, body);
  try {
    const { data: changed } = await call<AnyRecord>('PATCH', `${kind.api}/${record.id}`, { body, query: { structure: 'FLAT' }, headers: { 'if-match': etagOf(record) } });
    show(kind, record.id, { ...absent, ...changed });
    toast(said, { undo: () => undo(kind, changed, back) });
  } catch (error) {
    show(kind, record.id, { ...absent, ...record });
    throw error instanceof Problem && error.status === 412 ? new Problem(412, error.code, 'Somebody changed it meanwhile, so nothing was saved. The present state is shown now; do it again to replace it.', error.body) : error;
  } finally {
    readAgain(kind.api, kind.api.replace('/v2/', '/v2/statuses/'));
  }
}

async function undo(kind: Api, record: AnyRecord, body: object): Promise<void> {
  try {
    await call('PATCH', `${kind.api}/${record.id}`, { body, headers: { 'if-match': etagOf(record) } });
  } finally {
    readAgain(kind.api, kind.api.replace('/v2/', '/v2/statuses/'));
  }
}
