/** Snooze conversations: usual times and typed ones, and the notice when a snooze ends. */
import { useEffect, useState } from 'preact/hooks';
import { get } from '../api';
import { useRead } from '../data';
import { client, go, place } from '../route';
import { canRead, session } from '../session';
import { heard } from '../stream';
import type { Page } from '../types';
import { Entry, Popover } from '../ui/overlay';
import { toast } from '../ui/toast';
import { longTime, shortTime } from '../words';
import { timeOf } from '../when';
import { keyOf, LIST, nameOf, readConversationsAgain, type Conversation } from './conversations';

/** Times to snooze until, with their names. */
function usualTimes(now = new Date()): readonly (readonly [string, Date])[] {
  const at = (text: string) => timeOf(text, now) ?? now;
  const [tomorrow, monday] = [at('tomorrow'), at('next week')];
  const usual = [['3 hours', at('3 h')], ['Tomorrow 8:00', tomorrow]] as const;
  return tomorrow.getTime() === monday.getTime() ? usual : [...usual, ['Monday 8:00', monday]];
}

export function SnoozeMenu({ pick }: { pick: (until: Date) => void }) {
  return <TimeMenu text="Snooze" label="Snooze until" class="snooze" pick={pick} />;
}

interface TimeMenuProps {
  text: string;
  /** The name of the field for a typed time. */
  label: string;
  class: string;
  pick: (at: Date) => void;
}

/** A button with times; what is typed goes first. */
export function TimeMenu({ text, label, class: name, pick }: TimeMenuProps) {
  const [typed, setTyped] = useState('');
  const until = timeOf(typed);
  const hint = `${name}-until`;
  return (
    <Popover text={text} class={name}>
      {(close) => {
        const choose = (at: Date) => {
          close();
          setTyped('');
          pick(at);
        };
        return (
          <div class="entries">
            <input
              type="text"
              autofocus
              aria-label={label}
              aria-describedby={hint}
              placeholder="thu 9, in 3 days, 2026-12-01 14:00"
              value={typed}
              spellcheck={false}
              autocomplete="off"
              onInput={(event) => setTyped(event.currentTarget.value)}
              onKeyDown={(event) => event.key === 'Enter' && until && (event.preventDefault(), choose(until))}
            />
            <p class="faint" id={hint} role="status">
              {until ? `Enter: ${label === 'Snooze until' ? 'until ' : ''}${longTime(until.toISOString())}` : typed.trim() ? 'A time ahead, such as “thu 9”, “in 3 days” or “2026-12-01 14:00”.' : 'Type a time, or choose one.'}
            </p>
            {usualTimes().map(([text, at]) => (
              <Entry key={text} note={shortTime(at.toISOString())} onPick={() => choose(at)}>
                {text}
              </Entry>
            ))}
          </div>
        );
      }}
    </Popover>
  );
}

/** The longest time that a browser's timer can wait. */
const LONGEST_WAIT = 2 ** 31 - 1;
/** Milliseconds after which a snooze that has ended is over on the server too. */
const AFTER = 500;

/** Say when a snooze ends, on any screen: the person's own conversations, and those of nobody. */
export function useSnoozeEnds(): void {
  const me = session.value?.user?.id;
  const { data } = useRead(`${LIST} snoozed`, (signal) => get<Page<Conversation>>(LIST, { state: 'snoozed', limit: '100', ...(client.value && { client_id: client.value }) }, signal), { staleTime: 60_000, enabled: canRead.value });
  const mine = (data?.data ?? []).filter(({ assignee_id, snoozed_until }) => snoozed_until && (!me || assignee_id === null || assignee_id === me));
  const times = mine.map((each) => `${keyOf(each)} ${each.snoozed_until}`).join();
  useEffect(() => {
    const timers = mine.map((conversation) => {
      const wait = Date.parse(conversation.snoozed_until ?? '') - Date.now() + AFTER;
      return setTimeout(() => end(conversation), Math.min(LONGEST_WAIT, Math.max(0, wait)));
    });
    return () => timers.forEach(clearTimeout);
  }, [times]);
}

function end(conversation: Conversation): void {
  if (Date.parse(conversation.snoozed_until ?? '') > Date.now()) return;
  heard.value += 1;
  void readConversationsAgain(`${LIST} `);
  const isHere = place.value.path[0] === 'replies';
  toast(`The snooze of ${nameOf(conversation)} has ended.`, isHere ? {} : { action: { text: 'Open replies', run: () => go('/replies') } });
}
