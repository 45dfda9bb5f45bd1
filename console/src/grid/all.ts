/** Changes of all records that match a view: one request that the server carries out, after a dry run that counts them. */
import { call, get, Problem, type Answer } from '../api';
import { memberName, type AnyRecord, type Kind } from '../kinds/kind';
import { bodyOf } from '../record/fields';
import { go } from '../route';
import type { Page } from '../types';
import { changeToast, dismiss, toast, toastProblem } from '../ui/toast';
import { count, plural, words } from '../words';
import { refresh } from './changes';
import { pagesOf } from './pages';
import { countOf, type Rows } from './rows';
import { renew, type Selection } from './selection';
import { matchQuery, type View } from './view';

/** Records of one change; the API's own limit for a change by filter. */
export const MOST = 10_000;
const LOOK = 1000;

interface BulkChange {
  matched: number;
  changed: number;
  failed: number;
  failures: { id: number; detail: string }[];
}

type Filters = [string, string][];

async function patch<R extends AnyRecord>(kind: Kind<R>, query: Filters, body: object, most: number, signal?: AbortSignal): Promise<Answer<BulkChange>> {
  return call<BulkChange>('PATCH', kind.api, { query, body, headers: { prefer: `max-affected=${most}` }, signal });
}

/** Try a change of all that match, of which nothing is stored; returns how many they are. */
export async function tryAll<R extends AnyRecord>(kind: Kind<R>, view: View, body: object, signal: AbortSignal): Promise<number> {
  try {
    return (await patch(kind, [...matchQuery(view), ['dry_run', 'true']], body, MOST, signal)).data.matched;
  } catch (error) {
    if (error instanceof Problem && error.body.affected !== undefined) return error.body.affected;
    throw error;
  }
}

export async function countAll<R extends AnyRecord>(kind: Kind<R>, view: View, signal: AbortSignal): Promise<number> {
  return (await countOf(kind, view, 'exact', signal))?.count ?? 0;
}

/** Show how far a change is while the server makes it: those that have the status by now are counted. */
function watch<R extends AnyRecord>(kind: Kind<R>, id: number, view: View, status: string, total: number): () => void {
  const stop = new AbortController();
  const filters: Filters = [[`${kind.status}[ne]`, status], ...view.filters.map(([name, value]): [string, string] => [name, value])];
  async function look() {
    try {
      const left = await countOf(kind, { ...view, filters }, 'exact', stop.signal);
      if (left && !stop.signal.aborted) changeToast(id, `Setting the status: ${count(Math.max(0, total - left.count))} of ${count(total)}…`);
    } catch {
      // The change itself says what is wrong.
    }
  }
  const timer = setInterval(() => void look(), LOOK);
  return () => {
    clearInterval(timer);
    stop.abort();
  };
}

/** Set the status of all that match, at most as many as were counted; undoing gives each its previous one. */
export async function setStatusOfAll<R extends AnyRecord>(rows: Rows<R>, view: View, status: string, most: number, known: readonly string[], after: () => void): Promise<void> {
  const { kind } = rows;
  const id = toast('Setting the status…', { stays: true });
  const stop = watch(kind, id, view, status, most);
  const began = performance.now();
  try {
    const { data } = await patch(kind, matchQuery(view), { [kind.status]: status }, most);
    const got = data.changed ? await changedIn(kind, status, performance.now() - began) : null;
    const back = got && (() => giveBack(kind, got, known.filter((each) => each !== status), data.changed).finally(() => void renewRows(rows, after)));
    toast(data.changed ? `${plural(data.changed, kind.one, kind.many)} set to “${words(status)}”.` : 'They have this status already.', back ? { undo: back } : {});
    if (data.failed) toast(`${plural(data.failed, kind.one, kind.many)} not changed: ${data.failures[0]?.detail ?? 'the server refused it'}`, { bad: true });
    await renewRows(rows, after);
  } catch (error) {
    toastProblem(error);
  } finally {
    stop();
    dismiss(id);
  }
}

/** Set a field of all that match, at most as many as were counted; `name` is the value for people. It can be reverted in History. */
export async function setFieldOfAll<R extends AnyRecord>(rows: Rows<R>, view: View, member: string, value: string, name: string, most: number, after: () => void): Promise<void> {
  const { kind } = rows;
  const field = memberName(member).toLowerCase();
  const id = toast(`Setting the ${field}…`, { stays: true });
  try {
    const { data } = await patch(kind, matchQuery(view), bodyOf(kind.one, member, value), most);
    toast(data.changed ? `${plural(data.changed, kind.one, kind.many)} set to “${name}”.` : `They have this ${field} already.`, { action: { text: 'Open History', run: () => go('/history') } });
    if (data.failed) toast(`${plural(data.failed, kind.one, kind.many)} not changed: ${data.failures[0]?.detail ?? 'the server refused it'}`, { bad: true });
    await renewRows(rows, after);
  } catch (error) {
    toastProblem(error);
  } finally {
    dismiss(id);
  }
}

/** What a change has just reached: the records that got the status while it ran, by the server's clock. */
interface Reached {
  filters: Filters;
  since: string;
}

async function changedIn<R extends AnyRecord>(kind: Kind<R>, status: string, took: number): Promise<Reached | null> {
  const has: [string, string] = [`${kind.status}[eq]`, status];
  const newest = (await get<Page<R>>(kind.api, [has, ['sort', '-status_changed_at'], ['limit', '1']])).data[0]?.status_changed_at;
  if (!newest) return null;
  const since = new Date(new Date(newest).getTime() - took - 1000).toISOString();
  return { filters: [has, ['status_changed_at[gte]', since], ['status_changed_at[lte]', newest]], since };
}

/** Give the records that got a status the one that they had before; raise `Problem` if they are fewer than those that got it. */
async function giveBack<R extends AnyRecord>(kind: Kind<R>, got: Reached, known: readonly string[], expected: number): Promise<void> {
  let changed = 0;
  let why = '';
  for (const each of [...known, null]) {
    // A record that was created since then with this status had none before, and keeps it.
    const had: Filters = each === null ? [['previous_status[is_set]', 'false'], ['created_time[lt]', got.since]] : [['previous_status[eq]', each]];
    const { data } = await patch(kind, [...got.filters, ...had], { [kind.status]: each }, MOST);
    changed += data.changed;
    why ||= data.failures[0]?.detail ?? '';
  }
  if (changed < expected) throw new Problem(0, 'not_undone', `${plural(expected - changed, kind.one, kind.many)} not changed back: ${why || 'they have changed since'}`);
}

async function renewRows<R extends AnyRecord>(rows: Rows<R>, after: () => void): Promise<void> {
  try {
    await refresh(rows, rows.loaded().map((each) => each.id));
  } catch (error) {
    toastProblem(error);
  }
  after();
}

/** Have the selected records as the rows have them now. */
export function renewAll<R extends AnyRecord>(rows: Rows<R>, selection: Selection<R>): void {
  renew(selection, new Map(rows.loaded().map((each) => [each.id, each])));
}

/** Read all that match, at most as many as were counted, and do something with them. */
export async function withAll<R extends AnyRecord>(kind: Kind<R>, view: View, fields: string, most: number, run: (records: readonly R[]) => Promise<void>): Promise<void> {
  const id = toast(`Reading ${kind.many}…`, { stays: true });
  try {
    const found: R[] = [];
    // By id, so that what changes in the meantime is met once.
    for await (const page of pagesOf(kind, { ...view, sort: 'id' }, fields)) {
      found.push(...page);
      changeToast(id, `Reading ${kind.many}: ${count(found.length)}…`);
      if (found.length > most) break;
    }
    dismiss(id);
    if (found.length > most) toast(`More ${kind.many} match than the ${count(most)} that you were asked about. Nothing was changed; try again.`, { bad: true });
    else await run(found);
  } catch (error) {
    dismiss(id);
    toastProblem(error);
  }
}
