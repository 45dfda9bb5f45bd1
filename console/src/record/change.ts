/** Changes of one record: shown at once, made only if nobody changed the record meanwhile, with a way back. */
import { call, get, Problem } from '../api';
import { queries, readAgain } from '../data';
import { memberName, type AnyRecord, type Kind } from '../kinds/kind';
import type { Explained } from '../types';
import { choosesMine, type Difference } from '../ui/conflict';
import { toast } from '../ui/toast';
import { ago } from '../words';
import { actorName } from './source';

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

/** Change members of a record; raise `Problem`. Where somebody changed the same meanwhile, the person chooses. The message offers the way back. */
export async function change(kind: Api, record: AnyRecord, body: object, back: object, said: string): Promise<void> {
  // A record has no member for what is absent: what the body names and an answer lacks is no longer there.
  const absent = Object.fromEntries(Object.keys(body).map((name) => [name, undefined]));
  show(kind, record.id, body);
  try {
    const changed = await patch(kind, record, body);
    if (changed === null) return;
    show(kind, record.id, { ...absent, ...changed });
    toast(said, { undo: () => undo(kind, changed, back) });
  } catch (error) {
    show(kind, record.id, { ...absent, ...record });
    throw error;
  } finally {
    readAgain(kind.api, kind.api.replace('/v2/', '/v2/statuses/'));
  }
}

/** Send a change of the record as it is shown; null if the person keeps what somebody else set meanwhile. */
async function patch(kind: Api, record: AnyRecord, body: object): Promise<AnyRecord | null> {
  const path = `${kind.api}/${record.id}`;
  try {
    return (await call<AnyRecord>('PATCH', path, { body, query: FLAT, headers: { 'if-match': etagOf(record) } })).data;
  } catch (error) {
    if (!(error instanceof Problem && error.status === 412)) throw error;
    const present = await get<AnyRecord>(path, FLAT);
    const differences = differencesOf(record, present, body);
    const isMine = differences.length === 0 || (await choosesMine(await whoChanged(path, differences), differences));
    if (isMine) return patch(kind, present, body);
    show(kind, record.id, present);
    return null;
  }
}

const FLAT = { structure: 'FLAT' };

/** Members of a record that a change names, custom fields among them. */
function valuesOf(record: AnyRecord, body: object): Map<string, unknown> {
  const members = Object.entries(body).flatMap(([member]) => (member.endsWith('_custom_fields_input') ? [] : [[member, (record as unknown as Record<string, unknown>)[member]] as const]));
  const fields = Object.entries(body).flatMap(([member, value]) => {
    if (!member.endsWith('_custom_fields_input')) return [];
    const own = (record as unknown as Record<string, Record<string, unknown>>)[member.replace('_input', '')] ?? {};
    return (value as { field_name: string }[]).map(({ field_name: name }) => [`cf.${name}`, own[name]] as const);
  });
  return new Map([...members, ...fields]);
}

function text(value: unknown): string {
  return Array.isArray(value) ? value.map(text).join(', ') : value === null || value === undefined ? '' : typeof value === 'object' ? Object.values(value).map(text).join(' ') : `${value as string}`;
}

/** What a change would replace that somebody else set since the record was read. */
function differencesOf(record: AnyRecord, present: AnyRecord, body: object): Named[] {
  const [before, now] = [valuesOf(record, body), valuesOf(present, body)];
  const fields = Object.entries(body).flatMap(([member, value]) => (member.endsWith('_custom_fields_input') ? (value as { field_name: string; field_value: unknown }[]).map((each) => [`cf.${each.field_name}`, each.field_value] as const) : [[member, value] as const]));
  return fields.flatMap(([name, value]) => {
    const [theirs, mine] = [text(now.get(name)), text(value)];
    return theirs === text(before.get(name)) || theirs === mine ? [] : [{ name, label: memberName(name), theirs, mine }];
  });
}

interface Named extends Difference {
  name: string;
}

/** "Mira changed this 2 minutes ago"; without a name where nobody knows. */
async function whoChanged(path: string, differences: readonly Named[]): Promise<string> {
  const explained = await get<{ data: Explained[] }>(`${path}/explain`).catch(() => ({ data: [] }));
  const by = explained.data.find(({ field }) => differences.some(({ name }) => name === field))?.set_by;
  return by ? `${actorName(by)} changed this ${ago(by.received_at)},` : 'Somebody changed this';
}

async function undo(kind: Api, record: AnyRecord, body: object): Promise<void> {
  try {
    await patch(kind, record, body);
  } finally {
    readAgain(kind.api, kind.api.replace('/v2/', '/v2/statuses/'));
  }
}
