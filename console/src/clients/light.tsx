/** A light that waits for the first call and turns green when it comes. */
import { useState } from 'preact/hooks';
import { useRead } from '../data';
import { href } from '../route';
import type { ListedDelivery } from '../types';
import { ago, words } from '../words';
import { callsOf } from './requests';
import { nameOf } from './tools';
import type { Channel } from './types';

const EVERY = 2000;

interface Newest {
  of: ListedDelivery | null;
  other: ListedDelivery | null;
}

/** The newest webhook of a channel, and of a tool on it, looked up every two seconds while the page is seen. */
function useNewest(id: string, channel: Channel, tool: string): Newest | undefined {
  const [since] = useState(Date.now);
  return useRead<Newest>(`/admin/v1/deliveries newest ${id} ${channel} ${tool}`, async (signal) => {
    const newest = (await callsOf(id, { channel, limit: '1' }, signal))[0] ?? null;
    const isOf = newest === null || !tool || newest.tool === tool;
    const of = isOf ? newest : ((await callsOf(id, { channel, tool, limit: '1' }, signal))[0] ?? null);
    // A webhook that waits to be read has no tool yet.
    const isNew = newest !== null && newest.state !== 'received' && new Date(newest.received_at).getTime() >= since - EVERY;
    return { of, other: isOf || !isNew ? null : newest };
  }, { refetchInterval: EVERY }).data;
}

export function Light({ id, channel, tool }: { id: string; channel: Channel; tool: string }) {
  const { of, other } = useNewest(id, channel, tool) ?? { of: undefined, other: null };
  const who = tool ? nameOf(channel, tool) : '';
  return (
    <p class="light" role="status">
      <span class={`lamp ${of ? 'on' : of === null ? 'off' : ''}`} aria-hidden="true" />
      {of === undefined && <span class="faint">Looking for the first webhook</span>}
      {of === null && <span>Waiting for the first webhook{who && ` of ${who}`}</span>}
      {of && (
        <span>
          Last webhook {ago(of.received_at)}: <a href={href(`/webhooks/${of.id}`)}>{said(of, channel)}</a>
        </span>
      )}
      {other && (
        <span class="other">
          A webhook came that is not {who}’s: <a href={href(`/webhooks/${other.id}`)}>{said(other, channel)}</a>
        </span>
      )}
    </p>
  );
}

function said(call: ListedDelivery, channel: Channel): string {
  const what = call.events[0] === undefined ? call.state : words(call.events[0]).replace(/^[A-Z](?=[a-z]+\b)/, (letter) => letter.toLowerCase());
  return `${nameOf(channel, call.tool)}, ${what}`;
}
