/** What a connected tool has not taken: entries for its blocklist, or statuses for HubSpot, with the reason and what to do. */
import { useState } from 'preact/hooks';
import { call as send, Problem } from '../api';
import { usePages } from '../data';
import { Button, LoadProblem, Skeleton, Time } from '../ui/basic';
import { Dialog } from '../ui/overlay';
import { toast } from '../ui/toast';
import { plural } from '../words';
import { connectionPath } from './requests';
import { nameOf } from './tools';
import type { Connection, Push } from './types';

const STATES: Record<string, string> = { '': 'Not taken', waiting: 'Will be tried again', failed: 'Given up', skipped: 'Skipped' };

export function Pushes({ id, of, onClose }: { id: string; of: Connection; onClose: () => void }) {
  const [state, setState] = useState('');
  const [busy, setBusy] = useState('');
  const path = connectionPath(id, of, '/pushes');
  const pushes = usePages<Push>(path, { limit: '50', ...(state && { state }) });
  const name = nameOf(of.channel, of.tool);
  const rows = pushes.data ?? [];

  async function retry(event: string) {
    setBusy(event || 'all');
    try {
      const sent = (await send<{ events: number }>('POST', `${path}/retry`, { body: event ? { events: [event] } : {} })).data.events;
      toast(`${plural(sent, 'entry', 'entries')} will be sent again.`);
    } catch (error) {
      toast(error instanceof Problem ? error.message : 'It could not be sent again.');
    }
    setBusy('');
    pushes.refetch();
  }

  return (
    <Dialog title={`What ${name} has not taken`} onClose={onClose} wide>
      <div class="row pushes-head">
        <label>
          Show{' '}
          <select value={state} onChange={(event) => setState(event.currentTarget.value)}>
            {Object.entries(STATES).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <span class="push" />
        {rows.length > 0 && state !== 'skipped' && (
          <Button busy={busy === 'all'} onClick={() => void retry('')}>
            Try all again
          </Button>
        )}
      </div>
      <LoadProblem of={pushes} />
      {!pushes.data && !pushes.error && <Skeleton lines={3} />}
      {pushes.data && rows.length === 0 && <p>{state ? 'None.' : `${name} has taken all that was pushed to it.`}</p>}
      <ul class="lines pushes">
        {rows.map((each) => (
          <li key={`${each.endpoint_id} ${each.event}`} class="line-of push-line">
            <div class="what">
              <p>
                <b>{each.value ?? (each.record_id === null ? each.event : `Contact ${each.record_id}`)}</b> <span class="faint">{STATES[each.state]}, attempt {each.attempts}, <Time at={each.last_attempt_time} as="ago" /></span>
              </p>
              <p class={each.state === 'skipped' ? '' : 'wrong'}>{each.reason}</p>
              {each.response_body && <p class="faint words">{each.response_body.slice(0, 300)}</p>}
              <p class="faint">{each.advice}</p>
            </div>
            <div class="tools">
              <Button busy={busy === each.event} onClick={() => void retry(each.event)} aria-label={`Try again: ${each.value ?? each.event}`}>
                Try again
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {pushes.hasMore && <Button onClick={pushes.more}>Show more</Button>}
    </Dialog>
  );
}
