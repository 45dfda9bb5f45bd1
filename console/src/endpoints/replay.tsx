/** Send events again: those that failed, or all that are missing, since a time. */
import { post } from '../api';
import { Entry, Popover } from '../ui/overlay';
import { toast, toastProblem } from '../ui/toast';
import { plural } from '../words';

const DAYS = [
  { days: 1, text: 'the last day' },
  { days: 7, text: 'the last 7 days' },
  { days: 30, text: 'the last 30 days' },
] as const;

export function ReplayMenu({ path, changed }: { path: string; changed: () => void }) {
  async function replay(member: 'failed_since' | 'missing_since', days: number) {
    try {
      const since = new Date(Date.now() - days * 86_400_000).toISOString();
      const { events } = await post<{ events: number }>(`${path}/replay`, { [member]: since });
      toast(events ? `${plural(events, 'event')} will be sent again.` : 'There is nothing to send again.');
      changed();
    } catch (error) {
      toastProblem(error);
    }
  }
  return (
    <Popover text="Replay" icon="replay">
      {(close) => (
        <div class="entries">
          <p class="note">What failed since</p>
          {DAYS.map(({ days, text }) => (
            <Entry key={`failed ${days}`} onPick={() => (close(), void replay('failed_since', days))}>
              Failed in {text}
            </Entry>
          ))}
          <hr />
          <p class="note">Also what was never sent, such as from before it was made</p>
          {DAYS.map(({ days, text }) => (
            <Entry key={`missing ${days}`} onPick={() => (close(), void replay('missing_since', days))}>
              Missing in {text}
            </Entry>
          ))}
        </div>
      )}
    </Popover>
  );
}
