/** Calls that were not stored, each with its cause and how to mend it. */
import { useState } from 'preact/hooks';
import { post } from '../api';
import { useRead } from '../data';
import { go } from '../route';
import type { Page, Refusal } from '../types';
import { Button, Empty, ProblemNote, Skeleton, Time } from '../ui/basic';
import { toast, toastProblem } from '../ui/toast';
import { bytes, plural, toolName } from '../words';
import { listed } from './screen';

const CAUSES: Record<string, readonly [string, string]> = {
  not_verified: ['Signature missing or wrong', 'The connection has a secret, and the webhook does not carry it. Compare the secret in the tool with the connection’s, or make a new one.'],
  test_call: ['A test of the tool', 'Nothing to mend: the tool tried whether the address answers.'],
  unknown_client: ['No client has this address', 'The address in the tool has a typing error, or the client’s id was rotated. Copy the address again.'],
  too_large: ['The body was too long', 'Send fewer records in a webhook, or raise TOUCHBASE_MAX_WEBHOOK_BODY_BYTES.'],
  foreign_origin: ['A web page sent it', 'Tools send from a server. If this was a browser, send it from your own program.'],
  rate: ['Too many webhooks at once', 'The tool sends them again by itself. Raise the client’s limit if this is usual.'],
  storage: ['The client stores too much', 'The tool sends it again by itself. Delete data, or raise the client’s limit of stored bytes.'],
};

/** The id of a body that is stored for some days, and its way into the list. */
function StoredBody({ clientId, id }: { clientId: string; id: string }) {
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
        Its body is stored for some days: <code>{id}</code>. If the webhook is real, mend the secret, then receive it.
      </span>
      <Button busy={isSent} disabled={isSent} onClick={() => void receive()}>
        Receive it
      </Button>
    </span>
  );
}

export function Refused() {
  const loaded = useRead('/admin/v1/refusals', (signal) => listed<Page<Refusal>>('/admin/v1/refusals', { limit: '100' }, { data: [], next_cursor: null }, signal));
  if (loaded.error) return <ProblemNote problem={loaded.error} retry={() => void loaded.refetch()} />;
  if (!loaded.data) return <div class="pad"><Skeleton lines={8} wide={95} /></div>;
  if (!loaded.data.data.length) {
    return (
      <Empty icon="check" title="No webhook was refused">
        <p>A webhook is refused if its signature is missing or wrong, if no client has its address, or if it is too long. Its cause would stand here.</p>
      </Empty>
    );
  }
  return (
    <ul class="calls" aria-label="Refused webhooks">
      {loaded.data.data.map((each, n) => {
        const [title, mend] = CAUSES[each.cause] ?? [each.cause, ''];
        return (
          <li key={`${each.received_at} ${n}`} class="call">
            <span class="line">
              <span class="strong cut">{title}</span>
              <Time at={each.received_at} />
            </span>
            <span>{mend}</span>
            <span class="faint">
              {each.tool ? `Looks like ${toolName(each.tool)}` : 'Unknown tool'}, {bytes(each.size)}
              {each.calls > 1 && `, ${plural(each.calls, 'webhook')} alike`}
            </span>
            {each.body_id && <StoredBody clientId={each.client_id} id={each.body_id} />}
          </li>
        );
      })}
    </ul>
  );
}
