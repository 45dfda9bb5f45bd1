/** Selected conversations, and what is done with all of them at once. */
import { signal } from '@preact/signals';
import { Button } from '../ui/basic';
import { Entry, Popover } from '../ui/overlay';
import { toastProblem } from '../ui/toast';
import { words } from '../words';
import { changeMany, keyOf, LABELS, type Conversation, type ConversationChange } from './conversations';
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

/** Change all selected conversations, and select none. */
export function act(all: readonly Conversation[], body: ConversationChange, done: string, back: (before: Conversation) => ConversationChange): void {
  const chosen = all.filter((each) => selected.value.has(keyOf(each)));
  clear();
  void changeMany(chosen, body, done, back).catch(toastProblem);
}

export const finished = [{ state: 'done' }, 'done', () => ({ state: 'open' })] as const satisfies readonly [ConversationChange, string, () => ConversationChange];

export function assignTo(all: readonly Conversation[], id: string | null, name: string): void {
  act(all, { assignee_id: id }, `assigned to ${name}`, (before) => ({ assignee_id: before.assignee_id }));
}

export function SelectionBar({ all, people }: { all: readonly Conversation[]; people: ReadonlyMap<string, string> }) {
  const count = all.filter((each) => selected.value.has(keyOf(each))).length;
  if (!count) return null;
  return (
    <div class="selection" role="region" aria-label="Selected conversations">
      <b role="status">{count} selected</b>
      <Button icon="check" onClick={() => act(all, ...finished)}>
        Done
      </Button>
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
      <Button kind="quiet" icon="close" label="Select none" onClick={clear} />
    </div>
  );
}
