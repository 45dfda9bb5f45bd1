/** Calls without effect, grouped by what they look like, so that ten thousand of one kind are one line. */
import { useState } from 'preact/hooks';
import { post } from '../api';
import { useRead } from '../data';
import { href } from '../route';
import type { Group, Replay } from '../types';
import { Button, Empty, LoadProblem, Skeleton, Time } from '../ui/basic';
import { StatusMark } from '../ui/status';
import { changeToast, dismiss, toast, toastProblem } from '../ui/toast';
import { capital, count, plural, toolName, words } from '../words';
import { listed } from './list';

export function Problems({ chosen }: { chosen: string }) {
  const loaded = useRead('/admin/v1/deliveries/groups', (signal) => listed<{ data: Group[] }>('/admin/v1/deliveries/groups', { limit: '100' }, { data: [] }, signal));
  const groups = loaded.data?.data.filter((each) => each.state !== 'ignored') ?? [];
  if (loaded.error) return <LoadProblem of={loaded} />;
  if (!loaded.data) return <div class="pad"><Skeleton lines={8} wide={95} /></div>;
  if (!groups.length) {
    return (
      <Empty icon="check" title="Every webhook was recognised">
        <p>Webhooks that no adapter recognises, that fail, or that wait for another webhook are grouped here.</p>
      </Empty>
    );
  }
  return (
    <ul class="calls" aria-label="Problems">
      {groups.map((each) => (
        <li key={each.example_id}>
          <OneGroup group={each} chosen={String(each.example_id) === chosen} reload={() => void loaded.refetch()} />
        </li>
      ))}
    </ul>
  );
}

function OneGroup({ group, chosen, reload }: { group: Group; chosen: boolean; reload: () => void }) {
  const [busy, setBusy] = useState(false);
  async function again() {
    setBusy(true);
    await replay(group);
    setBusy(false);
    setTimeout(reload, 1500);
  }
  return (
    <div class={`group ${chosen ? 'chosen' : ''}`}>
      <a class="call" href={href(`/webhooks/${group.example_id}`, { tab: 'problems' })} aria-current={chosen ? 'true' : undefined}>
        <span class="line">
          <span class="strong cut">
            {group.event ? words(group.event) : 'No event name'}, {toolName(group.tool)}
          </span>
          <b>{count(group.count)}</b>
        </span>
        <span class="line">
          <span class="cut">{group.reason ? capital(group.reason) : group.keys.join(', ')}</span>
          <StatusMark status={group.state} />
        </span>
        <span class="faint">
          First <Time at={group.first_received_at} as="ago" />, last <Time at={group.last_received_at} as="ago" />
        </span>
      </a>
      <Button icon="replay" busy={busy} disabled={busy} onClick={() => void again()} label={`Replay all ${group.state} webhooks of ${toolName(group.tool)}`} />
    </div>
  );
}

/** Replay all calls of the group's tool, channel and state, part by part; says whether it came to the end. */
export async function replay(group: Pick<Group, 'client_id' | 'channel' | 'state' | 'tool'>): Promise<boolean> {
  const id = toast('Replaying…', { stays: true });
  let cursor: string | null = null;
  let done = 0;
  try {
    do {
      const filters = { client: group.client_id, channel: group.channel, state: group.state, ...(group.tool && { tool: group.tool }) };
      const made: Replay = await post<Replay>('/admin/v1/deliveries/replay', cursor ? { ...filters, cursor } : filters);
      done += made.count;
      cursor = made.next_cursor;
      changeToast(id, `Replaying: ${plural(done, 'webhook')}, ${count(made.left)} left…`);
    } while (cursor);
    dismiss(id);
    toast(`${plural(done, 'webhook')} read again. Those that are recognised now leave this list.`);
    return true;
  } catch (error) {
    dismiss(id);
    toastProblem(error);
    return false;
  }
}
