/** A light that waits for the first call and turns green when it comes. */
import { useEffect, useState } from 'preact/hooks';
import { href } from '../route';
import type { ListedDelivery } from '../types';
import { ago, words } from '../words';
import { callsOf } from './requests';
import { nameOf } from './tools';
import type { Channel } from './types';

const EVERY = 2000;

/** The newest call of a channel, and of a tool on it, looked up every two seconds while the page is seen. */
function useNewest(id: string, channel: Channel, tool: string): { of: ListedDelivery | null | undefined; other: ListedDelivery | null } {
  const [found, setFound] = useState<{ key: string; of: ListedDelivery | null; other: ListedDelivery | null }>();
  const key = `${id} ${channel} ${tool}`;
  useEffect(() => {
    const abort = new AbortController();
    const since = Date.now();
    let timer: ReturnType<typeof setTimeout>;
    async function poll() {
      try {
        if (document.visibilityState === 'visible') {
          const newest = (await callsOf(id, { channel, limit: '1' }, abort.signal))[0] ?? null;
          const isOf = newest === null || !tool || newest.tool === tool;
          const ofTool = isOf ? newest : ((await callsOf(id, { channel, tool, limit: '1' }, abort.signal))[0] ?? null);
          // A call that waits to be read has no tool yet.
          const isNew = newest !== null && newest.state !== 'received' && new Date(newest.received_at).getTime() >= since - EVERY;
          setFound({ key, of: ofTool, other: isOf || !isNew ? null : newest });
        }
      } catch {
        // The next look may find it; a server that does not answer is said above.
      }
      if (!abort.signal.aborted) timer = setTimeout(() => void poll(), EVERY);
    }
    void poll();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key]);
  return found?.key === key ? found : { of: undefined, other: null };
}

export function Light({ id, channel, tool }: { id: string; channel: Channel; tool: string }) {
  const { of, other } = useNewest(id, channel, tool);
  const who = tool ? nameOf(channel, tool) : '';
  return (
    <p class="light" role="status">
      <span class={`lamp ${of ? 'on' : of === null ? 'off' : ''}`} aria-hidden="true" />
      {of === undefined && <span class="faint">Looking for the first call</span>}
      {of === null && <span>Waiting for the first call{who && ` of ${who}`}</span>}
      {of && (
        <span>
          Last call {ago(of.received_at)}: <a href={href(`/inbox/${of.id}`)}>{said(of, channel)}</a>
        </span>
      )}
      {other && (
        <span class="other">
          A call came that is not {who}’s: <a href={href(`/inbox/${other.id}`)}>{said(other, channel)}</a>
        </span>
      )}
    </p>
  );
}

function said(call: ListedDelivery, channel: Channel): string {
  const what = call.events[0] === undefined ? call.state : words(call.events[0]).toLowerCase();
  return `${nameOf(channel, call.tool)}, ${what}`;
}
