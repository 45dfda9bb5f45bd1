/** Changes of one record: shown at once, made only if nobody changed the record meanwhile, with a way back. */
import { call, get, Problem } from '../api';
import { queries, readAgain } from '../data';
import { memberName, type AnyRecord, type Kind } from '../kinds/kind';
import type { Explained } from '../types';
import { choosesMine, differencesOf } from '../ui/conflict';
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
  if (typeof found !== 'object' || found === null) return found;
  if ('data' in found && Array.isArray(found.data)) {
    const rows = found.data as AnyRecord[];
    return rows.some((each) => each.id === id) ? { ...found, data: rows.map((each) => (each.id === id ? { ...each, ...change } : each)) } : found;
  }
  if (!('record' in found)) return found;
  const record = found.record as AnyRecord;
  return record.id === id ? { ...found, record: { ...record, ...change } } : found;
}

/** What a change sets, as records have it: custom fields by their names. */
function asRead(record: AnyRecord, body: object): object {
  const found = Object.entries(body).find(([name]) => name.endsWith(INPUT));
  if (!found) return body;
  const name = found[0].replace(/_input$/, '');
  const named = (found[1] as { field_name: string; field_value: unknown }[]).map((each) => [each.field_name, each.field_value]);
  return { ...body, [name]: { ...(record as unknown as Record<string, object>)[name], ...Object.fromEntries(named) } };
}

function show(kind: Api, id: number, change: object): void {
  queries.setQueriesData({ predicate: ({ queryKey: [, key] }) => typeof key === 'string' && key.startsWith(kind.api) }, (found: unknown) => withRecord(found, id, change));
}

/** Change members of a record; raise `Problem`. Where somebody changed the same meanwhile, the person chooses. The message offers the way back. `again`: whether lists are read again. */
export async function change(kind: Api, record: AnyRecord, body: object, back: object, said: string, again = true): Promise<void> {
  // A record has no member for what is absent: what the body names and an answer lacks is no longer there.
  const absent = Object.fromEntries(Object.keys(body).map((name) => [name, undefined]));
  show(kind, record.id, asRead(record, body));
  try {
    const changed = await patch(kind, record, body);
    if (changed === null) return;
    show(kind, record.id, { ...absent, ...changed });
    toast(said, { undo: () => undo(kind, changed, back) });
  } catch (error) {
    show(kind, record.id, { ...absent, ...record });
    throw error;
  } finally {
    readAgain(...(again ? [kind.api] : []), kind.api.replace('/v2/', '/v2/statuses/'));
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
    const differences = differencesOf(valuesOf(record, body), wantedOf(body), valuesOf(present, body), memberName);
    const isMine = differences.length === 0 || (await choosesMine(await whoChanged(path, differences), differences));
    if (isMine) return patch(kind, present, body);
    show(kind, record.id, present);
    return null;
  }
}

const FLAT = { structure: 'FLAT' };

type Named = ReturnType<typeof differencesOf>[number];

/** What a change sets: members, and custom fields as `cf.NAME`. */
function wantedOf(body: object): Map<string, unknown> {
  const pairs = Object.entries(body).map(([member, value]): [string, unknown][] =>
    member.endsWith(INPUT) ? (value as { field_name: string; field_value: unknown }[]).map((each) => [`cf.${each.field_name}`, each.field_value]) : [[member, value]],
  );
  return new Map(pairs.flat());
}

const INPUT = '_custom_fields_input';

/** What a record has of what a change sets. */
function valuesOf(record: AnyRecord, body: object): Map<string, unknown> {
  const members = record as unknown as Record<string, unknown>;
  const own = Object.entries(members).find(([name]) => name.endsWith('_custom_fields'))?.[1] as Record<string, unknown> | undefined;
  return new Map([...wantedOf(body).keys()].map((name) => [name, name.startsWith('cf.') ? own?.[name.slice(3)] : members[name]]));
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
