/** What can be done with the selected contacts. */
import { get, post } from '../api';
import { useLoad } from '../load';
import { client } from '../route';
import type { Contact, Page, Status } from '../types';
import { Button, StatusMark } from '../ui/basic';
import { Entry, Popover } from '../ui/overlay';
import { toast, toastProblem } from '../ui/toast';
import { plural } from '../words';
import type { Selection } from './grid';
import type { Rows } from './rows';
import { call } from '../api';

interface BatchResult {
  results: { status: number; problem?: { detail: string } }[];
  succeeded: number;
  failed: number;
}

const BATCH = 500;
const REASONS = ['requested', 'unsubscribed', 'complained', 'competitor'] as const;

export function Bulk({ rows, selection }: { rows: Rows; selection: Selection }) {
  const statuses = useLoad(`statuses ${client.value}`, (signal) => get<Page<Status>>('/public/v2/statuses/contacts', { limit: '200' }, signal));
  const ids = selection.ids.value;
  if (!ids.size) return null;
  const chosen = rows.loaded().filter((each) => ids.has(each.id));
  return (
    <div class="bulk" role="toolbar" aria-label="Selected contacts">
      <span>{plural(ids.size, 'contact')} selected</span>
      <Popover text="Set status">
        {(close) => (
          <div class="entries">
            {statuses.value?.data.map((each) => (
              <Entry
                key={each.name}
                onPick={() => {
                  close();
                  void setStatus(rows, chosen, each.name);
                }}
              >
                <StatusMark status={each.name} />
              </Entry>
            ))}
          </div>
        )}
      </Popover>
      <Popover text="Do not contact" icon="ban">
        {(close) => (
          <div class="entries">
            <p class="faint">Put their e-mail addresses on the do-not-contact list, because:</p>
            {REASONS.map((each) => (
              <Entry
                key={each}
                onPick={() => {
                  close();
                  void suppress(chosen, each);
                }}
              >
                {each === 'requested' ? 'they asked for it' : each}
              </Entry>
            ))}
          </div>
        )}
      </Popover>
      <Button kind="quiet" onClick={() => (selection.ids.value = new Set())}>
        Clear
      </Button>
    </div>
  );
}

/** Set a status; undoing gives each contact the one that it had. */
async function setStatus(rows: Rows, contacts: readonly Contact[], status: string): Promise<void> {
  const changed = contacts.filter((each) => each.contact_status !== status);
  if (!changed.length) {
    toast('They have this status already.');
    return;
  }
  try {
    const failed = await update(rows, changed.map((each) => ({ id: each.id, status })));
    toast(`${plural(changed.length - failed.length, 'contact')} set to “${status.replace(/_/g, ' ')}”.`, {
      undo: () => update(rows, changed.map((each) => ({ id: each.id, status: each.contact_status ?? null }))),
    });
    if (failed.length) toast(`${plural(failed.length, 'contact')} not changed: ${failed[0]}`, { bad: true });
  } catch (error) {
    toastProblem(error);
  }
}

async function update(rows: Rows, changes: readonly { id: number; status: string | null }[]): Promise<string[]> {
  const failed: string[] = [];
  for (let at = 0; at < changes.length; at += BATCH) {
    const part = changes.slice(at, at + BATCH);
    const commands = part.map((each) => ({ op: 'update', id: each.id, body: { contact_status: each.status ?? '' } }));
    const made = await post<BatchResult>('/public/v2/contacts/batch', { commands });
    failed.push(...made.results.filter((each) => each.status >= 400).map((each) => each.problem?.detail ?? 'the server refused it'));
  }
  await refresh(rows, changes.map((each) => each.id));
  return failed;
}

/** Read changed contacts again. */
async function refresh(rows: Rows, ids: readonly number[]): Promise<void> {
  for (let at = 0; at < ids.length; at += 200) {
    const page = await get<Page<Contact>>('/public/v2/contacts', { 'id[in]': ids.slice(at, at + 200).join(','), structure: 'FLAT', limit: '200' });
    rows.change(page.data);
  }
}

interface Suppressed {
  data: { outcome: string; entry: { id: number } | null }[];
}

async function suppress(contacts: readonly Contact[], reason: string): Promise<void> {
  const entries = contacts.filter((each) => each.email).map((each) => ({ kind: 'email', value: each.email, reason }));
  if (!entries.length) {
    toast('None of them has an e-mail address.', { bad: true });
    return;
  }
  try {
    const made = await post<Suppressed>('/public/v2/suppressions', { entries });
    const ids = made.data.filter((each) => each.outcome === 'created').map((each) => each.entry?.id).filter((id) => id !== undefined);
    toast(`${plural(entries.length, 'address', 'addresses')} must not be contacted from now on.`, {
      undo: () => Promise.all(ids.map((id) => call('DELETE', `/public/v2/suppressions/${id}`))),
    });
  } catch (error) {
    toastProblem(error);
  }
}
