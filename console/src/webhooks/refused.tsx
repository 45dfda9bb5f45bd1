/** Calls that were not stored, alike ones together, each with its cause and what to do. */
import { useState } from 'preact/hooks';
import { post } from '../api';
import { useRead } from '../data';
import { go, href, place, root } from '../route';
import { clients, showsAll } from '../session';
import type { Page, Refusal } from '../types';
import { Button, Empty, LoadProblem, Skeleton, Time } from '../ui/basic';
import { toast, toastProblem } from '../ui/toast';
import { bytes, plural, toolName } from '../words';
import { listed } from './list';

const CAUSES: Record<string, readonly [string, string]> = {
  not_verified: ['Signature missing or wrong', 'The connection has a secret, and the webhook does not carry it. Compare the secret in the tool with the connection’s, or make a new one.'],
  test_call: ['A test of the tool', 'Nothing to correct: the tool tried whether the address answers.'],
  unknown_client: ['No client has this address', 'The address in the tool has a typing error, or the client’s id was rotated. Copy the address again.'],
  too_large: ['The body was too long', 'Send fewer records in a webhook, or raise TOUCHBASE_MAX_WEBHOOK_BODY_BYTES.'],
  foreign_origin: ['A web page sent it', 'Tools send from a server. If this was a browser, send it from your own program.'],
  rate: ['Too many webhooks at once', 'The tool sends them again by itself. Raise the client’s limit if this is usual.'],
  storage: ['The client stores too much', 'The tool sends it again by itself. Delete data, or raise the client’s limit of stored bytes.'],
};

/** A body that is stored for some days, and its way into the list once the cause is gone. */
function StoredBody({ clientId, id, at, size }: { clientId: string; id: string; at: string; size: number }) {
  const [isSent, setSent] = useState(false);
  async function receive() {
    setSent(true);
    try {
      const received = await post<{ delivery_id: number }>(`/admin/v1/clients/${encodeURIComponent(clientId)}/refused-webhooks/${id}/replay`);
      toast('The webhook is received, and will be read.', { action: { text: 'Show it', run: () => go(`/webhooks/${received.delivery_id}`) } });
    } catch (error) {
      setSent(false);
      toastProblem(error);
    }
  }
  return (
    <span class="line">
      <span class="faint">
        <Time at={at} />, {bytes(size)}: <code>{id}</code>
      </span>
      <Button busy={isSent} disabled={isSent} onClick={() => void receive()}>
        Receive
      </Button>
    </span>
  );
}

interface RefusedGroup {
  newest: Refusal;
  webhooks: number;
  bodies: Refusal[];
}

/** Refusals alike: of a client, a tool and a cause. */
function groupsOf(refusals: readonly Refusal[]): RefusedGroup[] {
  const groups = new Map<string, RefusedGroup>();
  for (const each of refusals) {
    const key = JSON.stringify([each.client_id, each.channel, each.tool, each.cause]);
    const group = groups.get(key) ?? { newest: each, webhooks: 0, bodies: [] };
    group.webhooks += each.calls;
    if (each.body_id) group.bodies.push(each);
    groups.set(key, group);
  }
  return [...groups.values()];
}

export function Refused() {
  const loaded = useRead('/admin/v1/refusals', (signal) => listed<Page<Refusal>>('/admin/v1/refusals', { limit: '100' }, { data: [], next_cursor: null }, signal));
  const cause = place.value.query.get('cause');
  if (loaded.error) return <LoadProblem of={loaded} />;
  if (!loaded.data) return <div class="pad"><Skeleton lines={8} wide={95} /></div>;
  const groups = groupsOf(loaded.data.data).filter(({ newest }) => !cause || newest.cause === cause);
  if (!groups.length) {
    return (
      <Empty icon="check" title={cause ? 'No webhook was refused for this cause' : 'No webhook was refused'}>
        <p>A webhook is refused if its signature is missing or wrong, if no client has its address, or if it is too long. Its cause would stand here.</p>
        {cause && (
          <a class="button" href={href('/webhooks', { tab: 'refused' })}>
            Show all refused webhooks
          </a>
        )}
      </Empty>
    );
  }
  return (
    <>
      {cause && (
        <p class="pad">
          <span class="chip">
            {CAUSES[cause]?.[0] ?? cause}
            <Button kind="quiet" icon="close" label="Show all causes" onClick={() => go('/webhooks', { tab: 'refused' })} />
          </span>
        </p>
      )}
      <ul class="calls" aria-label="Refused webhooks">
        {groups.map((group) => (
          <Group key={JSON.stringify([group.newest.client_id, group.newest.channel, group.newest.tool, group.newest.cause])} {...group} />
        ))}
      </ul>
    </>
  );
}

function Group({ newest, webhooks, bodies }: RefusedGroup) {
  const { client_id: id, channel, tool, cause, received_at: at } = newest;
  const [title, advice] = CAUSES[cause] ?? [cause, ''];
  const client = clients.value.find((each) => each.client_id === id);
  return (
    <li class="call">
      <span class="line">
        <span class="strong cut">{title}</span>
        <Time at={at} />
      </span>
      <span>
        {client && showsAll.value && <span class="chip">{client.name || id}</span>} {`${plural(webhooks, 'webhook')}, ${tool ? `looks like ${toolName(tool)}` : 'unknown tool'}`}
      </span>
      {cause === 'unknown_client' && <code>{`${root}/public/${channel === 'crm' ? 'crm' : 'emailcampaign'}-webhook/${id}`}</code>}
      <span>{advice}</span>
      {cause === 'not_verified' && client && tool && (
        <span>
          <a class="button" href={href(`/clients/${id}`, { connection: `${channel}/${tool}`, field: 'secret' }, id)}>
            Enter secret
          </a>
        </span>
      )}
      {bodies.length > 0 && (
        <details>
          <summary>{plural(bodies.length, 'stored body', 'stored bodies')}</summary>
          {bodies.map((each) => (
            <StoredBody key={each.body_id} clientId={id} id={each.body_id ?? ''} at={each.received_at} size={each.size} />
          ))}
        </details>
      )}
    </li>
  );
}
