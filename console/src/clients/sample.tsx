/** Send a sample call to a webhook address, as the tool would, and see what becomes of it. */
import { useEffect, useState } from 'preact/hooks';
import { asProblem, Problem } from '../api';
import { href } from '../route';
import type { ListedDelivery } from '../types';
import { Button, ProblemNote } from '../ui/basic';
import { Field } from '../ui/confirm';
import { StatusMark } from '../ui/status';
import { toast } from '../ui/toast';
import { words } from '../words';
import { callsOf, sendOf, webhookPath } from './requests';
import { hasSample, sampleOf } from './samples';
import { nameOf } from './tools';
import type { Channel, Connection } from './types';

interface Props {
  id: string;
  channel: Channel;
  tool: string;
  connection: Connection | undefined;
}

export function Sample({ id, channel, tool, connection }: Props) {
  const [secret, setSecret] = useState('');
  const [sent, setSent] = useState('');
  const [call, setCall] = useState<ListedDelivery | null>(null);
  const [asked, setAsked] = useState(0);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [erased, setErased] = useState(false);
  const as = tool !== '' && hasSample(channel, tool) ? tool : 'generic';
  const needsSecret = connection?.secret === 'set';

  async function post() {
    const made = sampleOf(channel, as);
    setProblem(null);
    setCall(null);
    setErased(false);
    setSent('');
    try {
      await deliver(id, channel, made.body, secret);
      setSent(made.email);
    } catch (error) {
      setProblem(asProblem(error));
    }
  }

  useEffect(() => {
    if (!sent || (call && call.state !== 'received')) return undefined;
    const timer = setTimeout(() => {
      callsOf(id, { channel, email: sent, limit: '1' })
        .then(
          (found) => setCall(found[0] ?? null),
          (error: unknown) => setProblem(asProblem(error)),
        )
        .finally(() => setAsked(asked + 1));
    }, 400);
    return () => clearTimeout(timer);
  }, [sent, call, asked]);

  const contact = call?.people.find((each) => each.contact_id !== null)?.contact_id ?? null;
  async function erase() {
    try {
      await sendOf(id, 'DELETE', `/public/v2/contacts/${contact}`, undefined, { erase: 'true' });
      setErased(true);
      toast('The sample’s contact is erased, with what it said.');
    } catch (error) {
      setProblem(asProblem(error));
    }
  }

  return (
    <div class="sample">
      <p class="faint">
        A sample webhook goes to the address as {nameOf(channel, as)} would send it. It makes a contact at a made-up address that ends in “.example”, which you can erase afterwards.
      </p>
      {needsSecret && (
        <Field label="Secret of the connection" help="The connection asks for a proof. A sample shows the secret itself; it is sent this once and not stored.">
          <input type="password" autocomplete="off" value={secret} onInput={(event) => setSecret(event.currentTarget.value)} />
        </Field>
      )}
      <Button icon="mail" onClick={() => void post()} disabled={needsSecret && !secret} busy={sent !== '' && call === null}>
        Send a sample webhook
      </Button>
      {problem && <ProblemNote problem={problem} />}
      {sent && (
        <p class="sample-result" role="status">
          {call === null || call.state === 'received' ? (
            `Sent, about ${sent}. It is being read…`
          ) : (
            <>
              <StatusMark status={call.state} />
              <span>
                Read as <a href={href(`/webhooks/${call.id}`)}>{`${nameOf(channel, call.tool)}, ${call.events.map((each) => words(each).toLowerCase()).join(', ') || 'nothing recognised'}`}</a>
              </span>
              {contact !== null && !erased && (
                <>
                  <a class="button" href={href(`/contacts/${contact}`)}>
                    Show the contact
                  </a>
                  <Button kind="danger" onClick={() => void erase()}>
                    Erase it
                  </Button>
                </>
              )}
            </>
          )}
        </p>
      )}
    </div>
  );
}

/** Post as a tool does: without the session, so that nothing of this browser is in the call. */
async function deliver(id: string, channel: Channel, body: unknown, secret: string): Promise<void> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (secret) headers['authorization'] = `Bearer ${secret}`;
  const response = await fetch(webhookPath(id, channel), { method: 'POST', headers, body: JSON.stringify(body), credentials: 'omit', cache: 'no-store' });
  if (response.ok) return;
  const found = (await response.json().catch(() => ({}))) as { detail?: string; code?: string };
  throw new Problem(response.status, found.code ?? 'error', found.detail ?? `The address answered ${response.status}.`);
}
