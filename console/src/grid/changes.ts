/** Changes of many records: in parts, with progress, a way to stop and a way back. */
import { call, post, Problem } from '../api';
import { memberName, valueOf, type AnyRecord, type Kind } from '../kinds/kind';
import { bodyOf } from '../record/fields';
import { changeToast, dismiss, toast, toastProblem } from '../ui/toast';
import { count, plural } from '../words';
import { readAgain } from '../data';
import { go } from '../route';
import { readRows, type Rows } from './rows';

interface BatchResult {
  results: { status: number; problem?: { detail: string } }[];
}

interface Suppressed {
  data: { outcome: string; entry: { id: number } | null; errors: { detail: string }[] }[];
}

const PART = 500;
const ENTRIES = 1000;

/** The value that a member of a record gets; null unsets it. */
export interface MemberChange {
  id: number;
  value: string | null;
}

/** What became of a change: how many it reached, what refused it, and whether it was stopped. */
interface Done {
  tried: number;
  failed: string[];
  /** What ended it before its end, after some parts were done. */
  ended: unknown;
}

/** Do the work in parts; more than one part shows its progress and can be stopped. */
async function inParts<T>(all: readonly T[], size: number, doing: string, run: (part: readonly T[]) => Promise<string[]>): Promise<Done> {
  const done: Done = { tried: 0, failed: [], ended: null };
  let stopped = false;
  const id = all.length > size ? toast(`${doing}…`, { stays: true, action: { text: 'Stop', run: () => (stopped = true) } }) : null;
  try {
    for (let at = 0; at < all.length && !stopped; at += size) {
      const part = all.slice(at, at + size);
      done.failed.push(...(await run(part)));
      done.tried += part.length;
      if (id !== null) changeToast(id, `${doing}: ${count(done.tried)} of ${count(all.length)}…`);
    }
    if (done.tried < all.length) done.ended = new Problem(0, 'stopped', `It was stopped: ${count(done.tried)} of ${count(all.length)} were done.`);
  } catch (error) {
    if (!done.tried) throw error;
    done.ended = error;
  } finally {
    if (id !== null) dismiss(id);
  }
  return done;
}

/** Set a member, `name` being the value for people; undoing gives each record the value that it had. `tell` gets what was sent, both times. */
export async function setMember<R extends AnyRecord>(rows: Rows<R>, records: readonly R[], member: string, value: string | null, name: string, tell: (changes: readonly MemberChange[]) => void): Promise<void> {
  const { kind } = rows;
  const before = (of: R) => valueOf(kind, of, member) || null;
  const changed = records.filter((each) => before(each) !== value);
  if (!changed.length) {
    toast(`They have this ${memberName(member).toLowerCase()} already.`);
    return;
  }
  try {
    const done = await update(rows, member, changed.map((each) => ({ id: each.id, value })), tell);
    const reached = changed.slice(0, done.tried);
    toast(`${plural(done.tried - done.failed.length, kind.one, kind.many)} set to “${name}”.`, {
      undo: () => update(rows, member, reached.map((each) => ({ id: each.id, value: before(each) })), tell).then(mustBeWhole),
    });
    if (done.ended) toastProblem(done.ended);
    if (done.failed.length) toast(`${plural(done.failed.length, kind.one, kind.many)} not changed: ${done.failed[0]}`, { bad: true });
  } catch (error) {
    toastProblem(error);
  }
}

async function update<R extends AnyRecord>(rows: Rows<R>, member: string, changes: readonly MemberChange[], tell: (changes: readonly MemberChange[]) => void): Promise<Done> {
  const { kind } = rows;
  const done = await inParts(changes, PART, `Setting the ${memberName(member).toLowerCase()}`, async (part) => {
    const commands = part.map((each) => ({ op: 'update', id: each.id, body: bodyOf(kind.one, member, each.value ?? '') }));
    const made = await post<BatchResult>(`${kind.api}/batch`, { commands });
    return made.results.filter((each) => each.status >= 400).map((each) => each.problem?.detail ?? 'the server refused it');
  });
  tell(changes.slice(0, done.tried));
  const shown = new Set(rows.loaded().map((each) => each.id));
  await refresh(rows, changes.map((each) => each.id).filter((id) => shown.has(id)));
  return done;
}

/** Move records into the bin; they can be restored there, and as one change in History. */
export async function remove<R extends AnyRecord>(kind: Kind<R>, records: readonly Pick<R, 'id'>[]): Promise<void> {
  try {
    // One request id for all parts makes them one change.
    const headers = { 'x-request-id': crypto.randomUUID() };
    const done = await inParts(records, PART, 'Moving into the bin', async (part) => {
      const { data } = await call<BatchResult>('POST', `${kind.api}/batch`, { body: { commands: part.map(({ id }) => ({ op: 'delete', id })) }, headers });
      return data.results.filter((each) => each.status >= 400).map((each) => each.problem?.detail ?? 'the server refused it');
    });
    toast(`${plural(done.tried - done.failed.length, kind.one, kind.many)} moved into the bin.`, { action: { text: 'Open the bin', run: () => go('/bin') } });
    if (done.ended) toastProblem(done.ended);
    if (done.failed.length) toast(`${plural(done.failed.length, kind.one, kind.many)} not deleted: ${done.failed[0]}`, { bad: true });
  } catch (error) {
    toastProblem(error);
  }
  await readAgain(kind.api);
}

/** Read changed records again. */
export async function refresh<R extends AnyRecord>(rows: Rows<R>, ids: readonly number[]): Promise<void> {
  rows.change(await readRows(rows.kind, ids));
}

/** Put the addresses of records on the do-not-contact list; undoing removes the entries that are new. `after` is called after both. */
export async function suppress<R extends AnyRecord>(kind: Kind<R>, records: readonly R[], reason: string, after: () => void = () => undefined): Promise<void> {
  const [one, many] = kind.listedAs;
  const entries = records.map(kind.listed).filter((each) => each !== null).map((each) => ({ ...each, reason, source: 'person' }));
  if (!entries.length) {
    toast('None of them has an address to block.', { bad: true });
    return;
  }
  const created: number[] = [];
  try {
    const done = await inParts(entries, ENTRIES, 'Blocking', async (part) => {
      const made = await post<Suppressed>('/public/v2/suppressions', { entries: part });
      for (const each of made.data) if (each.outcome === 'created' && each.entry) created.push(each.entry.id);
      return made.data.filter((each) => each.outcome === 'invalid').map((each) => each.errors[0]?.detail ?? 'it is no address');
    });
    toast(`${plural(done.tried - done.failed.length, one, many)} must not be contacted from now on.`, created.length ? { undo: () => unlist(created).finally(after) } : {});
    after();
    if (done.ended) toastProblem(done.ended);
    if (done.failed.length) toast(`${plural(done.failed.length, one, many)} not blocked: ${done.failed[0]}`, { bad: true });
  } catch (error) {
    toastProblem(error);
  }
}

/** Raise what ended a change early: it is not undone then. */
function mustBeWhole(done: Done): void {
  if (done.ended) throw done.ended;
  if (done.failed.length) throw new Problem(0, 'not_undone', `${plural(done.failed.length, 'record')} not changed back: ${done.failed[0]}`);
}

async function unlist(ids: readonly number[]): Promise<void> {
  mustBeWhole(await inParts(ids, 8, 'Removing them', async (part) => {
    await Promise.all(part.map((id) => call('DELETE', `/public/v2/suppressions/${id}`)));
    return [];
  }));
}
