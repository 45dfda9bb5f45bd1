/** What the person who is signed in is told of, by what, and when not. */
import { useState } from 'preact/hooks';
import { asProblem, call, type Problem } from '../api';
import { Button, ProblemNote } from '../ui/basic';
import { toast } from '../ui/toast';
import type { Schemas } from '../types';

type Wanted = Schemas['Notifications'];
type User = Schemas['UserOut'];
const KINDS = [
  ['mention', 'A note names me'],
  ['assignment', 'A conversation is assigned to me'],
  ['reply', 'A reply in my conversations'],
  ['positive_reply', 'Somebody is interested or wants a meeting'],
  ['task_due', 'A task of mine is due'],
  ['critical', 'Something critical needs somebody'],
  ['daily_summary', 'A summary of the day'],
] as const;
const CHANNELS = [['browser', 'Browser'], ['email', 'Email'], ['slack', 'Slack']] as const;

export function MyNotifications({ user, onSaved }: { user: User; onSaved: () => void }) {
  const [draft, setDraft] = useState<Wanted | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const wanted = draft ?? user.notifications;
  function toggle(kind: (typeof KINDS)[number][0], channel: (typeof CHANNELS)[number][0], isOn: boolean) {
    const others = (wanted[kind] ?? []).filter((each) => each !== channel);
    setDraft({ ...wanted, [kind]: isOn ? [...others, channel] : others });
    // Browsers ask the person only after an act of theirs.
    if (isOn && channel === 'browser' && 'Notification' in window && Notification.permission === 'default') void Notification.requestPermission();
  }
  async function save(event: Event) {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const body = { notifications: wanted };
      await call('PATCH', `/team/v1/users/${user.id}`, { body });
      setDraft(null);
      onSaved();
      toast('Your notifications are saved.');
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }
  return (
    <form class="panel wishes" aria-labelledby="my-notifications" onSubmit={(event) => void save(event)}>
      <h2 id="my-notifications">My notifications</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Tell me of</th>
            {CHANNELS.map(([channel, name]) => <th key={channel} scope="col">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {KINDS.map(([kind, name]) => (
            <tr key={kind}>
              <th scope="row">{name}</th>
              {CHANNELS.map(([channel, by]) => (
                <td key={channel}>
                  <input type="checkbox" aria-label={`${name}: ${by}`} checked={wanted[kind]?.includes(channel) ?? false} onChange={(event) => toggle(kind, channel, event.currentTarget.checked)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div class="row">
        <label>
          Summary at <input type="time" value={wanted.summary_at ?? '08:00'} onInput={(event) => setDraft({ ...wanted, summary_at: event.currentTarget.value || null })} />
        </label>
        <label>
          Quiet from <input type="time" value={wanted.quiet_from ?? ''} onInput={(event) => setDraft({ ...wanted, quiet_from: event.currentTarget.value || null })} />
        </label>
        <label>
          until <input type="time" value={wanted.quiet_until ?? ''} onInput={(event) => setDraft({ ...wanted, quiet_until: event.currentTarget.value || null })} />
        </label>
      </div>
      <p class="faint">Browser: while the console is open. Email: at most one about a client in five minutes. Slack: a direct message, if the operator has set it up; a channel is an endpoint. Summary: new replies, what is open and needs somebody, and snoozes that end today; none on a day without any.</p>
      {problem && <ProblemNote problem={problem} />}
      <div class="row">
        <Button type="submit" kind="main" busy={busy} disabled={!draft}>Save notifications</Button>
      </div>
    </form>
  );
}
