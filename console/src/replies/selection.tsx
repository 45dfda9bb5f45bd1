/** Selected conversations, and what is done with all of them at once. */
import { signal } from '@preact/signals';
import { reachable } from '../api';
import { Button } from '../ui/basic';
import { Entry, Popover } from '../ui/overlay';
import { digitOf, StatusMark, withDigits } from '../ui/status';
import { toastProblem } from '../ui/toast';
import { words } from '../words';
import { showsAll } from '../session';
import type { Status } from '../types';
import { blocking } from './block';
import { changeMany, keyOf, LABELS, MOST_AT_ONCE, type Conversation, type ConversationChange, type ManyChange } from './conversations';
import { SnoozeMenu } from './snooze';

/** The keys of selected conversations. */
export const selected = signal<ReadonlySet<string>>(new Set());

export function select(conversations: readonly Conversation[], on: boolean): void {
  const keys = new Set(selected.value);
  for (const conversation of conversations) if (on) keys.add(keyOf(conversation)); else keys.delete(keyOf(conversation));
  selected.value = keys;
}

export function toggle(conversation: Conversation): void {
  select([conversation], !selected.value.has(keyOf(conversation)));
}

export function clear(): void {
  selected.value = new Set();
}

export function selectedOf(all: readonly Conversation[]): readonly Conversation[] {
  return selected.value.size ? all.filter((each) => selected.value.has(keyOf(each))).slice(0, MOST_AT_ONCE) : [];
}

/** Change all selected conversations, and select none. */
export function act(all: readonly Conversation[], body: ManyChange, done: string, back: (before: Conversation) => ManyChange): void {
  const chosen = selectedOf(all);
  clear();
  void changeMany(chosen, body, done, back).catch(toastProblem);
}

export const finished = [{ state: 'done' }, 'done', () => ({ state: 'open' })] as const satisfies readonly [ConversationChange, string, () => ConversationChange];

export function assignTo(all: readonly Conversation[], id: string | null, name: string): void {
  act(all, { assignee_id: id }, `assigned to ${name}`, (before) => ({ assignee_id: before.assignee_id }));
}

/** Set the status of all that are selected; one that closes conversations marks them as done. */
export function setStatuses(all: readonly Conversation[], { name, look }: Status): void {
  const closes = look?.closes === true;
  act(all, { contact_status: name, ...(closes && { state: 'done' }) }, `set to “${look?.label || words(name)}”`, ({ contact, state }) => ({
    contact_status: contact.contact_status,
    ...(closes && state !== 'done' && { state: 'open' }),
  }));
}

export function blockSelected(all: readonly Conversation[]): void {
  blocking.value = selectedOf(all);
}

interface Props {
  all: readonly Conversation[];
  people: ReadonlyMap<string, string>;
  /** The statuses that the clients of all selected conversations have. */
  statuses: readonly Status[];
}

export function SelectionBar({ all, people, statuses }: Props) {
  const count = selectedOf(all).length;
  if (!count) return null;
  const digits = withDigits(statuses, showsAll.value);
  return (
    <div class="selection" inert={!reachable.value} role="region" aria-label="Selected conversations">
      <b role="status">{count} selected</b>
      <Button icon="check" onClick={() => act(all, ...finished)}>
        Done
      </Button>
      {statuses.length > 0 && (
        <Popover text="Status" class="pick-status">
          {(close) => (
            <div class="entries">
              {statuses.map((status) => {
                const place = digits.indexOf(status);
                return (
                  <Entry key={status.name} note={place < 0 ? undefined : digitOf(status, place, showsAll.value)} onPick={() => (close(), setStatuses(all, status))}>
                    <StatusMark status={status.name} />
                  </Entry>
                );
              })}
            </div>
          )}
        </Popover>
      )}
      <SnoozeMenu pick={(until) => act(all, { snoozed_until: until.toISOString() }, 'snoozed', () => ({ snoozed_until: null }))} />
      {people.size > 0 && (
        <Popover text="Assign" class="assign">
          {(close) => (
            <div class="entries">
              {[...people, ['', 'Nobody'] as const].map(([id, name]) => (
                <Entry key={id} onPick={() => (close(), assignTo(all, id || null, name))}>
                  {name}
                </Entry>
              ))}
            </div>
          )}
        </Popover>
      )}
      <Popover text="Label" class="pick-label">
        {(close) => (
          <div class="entries">
            {LABELS.map((label) => (
              <Entry key={label} onPick={() => (close(), act(all, { label }, `labelled “${words(label)}”`, (before) => ({ label: before.label as NonNullable<ConversationChange['label']> | null })))}>
                {words(label)}
              </Entry>
            ))}
          </div>
        )}
      </Popover>
      <Button icon="ban" onClick={() => blockSelected(all)}>
        Block
      </Button>
      <Button kind="quiet" icon="close" label="Select none" onClick={clear} />
    </div>
  );
}
