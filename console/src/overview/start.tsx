/** The first steps of a new installation, each ticked by what the API tells. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { webhookAddress } from '../clients/requests';
import { CHANNEL_NAMES, CHANNELS } from '../clients/tools';
import { useGet } from '../data';
import { client, href, type Query } from '../route';
import { clients, refreshClients, session } from '../session';
import type { Page, Schemas } from '../types';
import { Button, Icon } from '../ui/basic';
import { CopyLine } from '../ui/confirm';
import { toastProblem } from '../ui/toast';
import { areStepsReady, RECEIVED, setFirstSteps } from './first-steps';

/** Milliseconds between looks for what has come, until the first webhook has. */
const LOOK = 3000;

interface Step {
  title: string;
  about: string;
  isDone: boolean | undefined;
  action: string;
  path: string;
  query?: Query;
  children?: ComponentChildren;
}

export function Start() {
  const received = useGet<Schemas['ClientReceipts']>(RECEIVED, {}, { refetchInterval: (of) => (of.state.data?.data.length ? false : LOOK) });
  const hasReceived = received.data && received.data.data.length > 0;
  const refused = useGet<Page<unknown>>('/admin/v1/refusals', { limit: '1' }, { enabled: hasReceived === false, refetchInterval: LOOK });
  const people = useGet<Page<unknown>>('/team/v1/users', { limit: '2' });
  const id = (clients.value.find((each) => each.client_id === client.value) ?? clients.value[0])?.client_id ?? '';
  // The first client may have come since the page was opened.
  useEffect(() => void refreshClients().catch(toastProblem), [hasReceived]);
  const steps: Step[] = [
    { title: 'Create a client', about: 'An organisation whose contacts, companies and tools belong together.', isDone: clients.value.length > 0, action: 'New client', path: '/clients', query: { do: 'new' } },
    {
      title: 'Paste an address into a tool',
      about: id ? 'Its webhooks come to this address.' : 'Each client has an address for its campaign tool and one for its CRM.',
      isDone: hasReceived || (refused.data && refused.data.data.length > 0),
      action: 'Show where',
      path: `/clients/${id || 'default'}`,
      children: id && CHANNELS.map((channel) => <CopyLine key={channel} text={webhookAddress(id, channel)} of={`address for ${CHANNEL_NAMES[channel]}`} />),
    },
    { title: 'Receive the first webhook', about: 'It comes with the tool’s next event. A sample shows what becomes of it before.', isDone: hasReceived, action: 'Send a sample', path: `/clients/${id || 'default'}` },
    { title: 'Invite a colleague', about: 'By a link, with a role for all clients or for single ones.', isDone: people.data && people.data.data.length > (session.value?.user ? 1 : 0), action: 'Invite', path: '/team', query: { do: 'new' } },
  ];
  const isKnown = [received, people, ...(hasReceived === false ? [refused] : [])].every((each) => each.data || each.error);
  useEffect(() => {
    if (isKnown) areStepsReady.value = true;
  }, [isKnown]);
  const areDone = steps.every((each) => each.isDone);
  useEffect(() => {
    if (areDone) setFirstSteps('hidden');
  }, [areDone]);
  if (!areStepsReady.value) return null;
  return (
    <section class="first-steps" aria-labelledby="first-steps">
      <header class="list-head">
        <h2 id="first-steps">Start here</h2>
        <span class="push" />
        {clients.value.length > 0 && (
          <Button kind="quiet" onClick={() => setFirstSteps('hidden')}>
            Hide
          </Button>
        )}
      </header>
      <ol class="start">
        {steps.map(({ title, about, isDone, action, path, query, children }, n) => (
          <li key={title}>
            <span class="step">{isDone ? <Icon name="check" /> : <span aria-hidden="true">{n + 1}</span>}</span>
            <div>
              <h3>
                {title}
                {isDone && <span class="hidden">, done</span>}
              </h3>
              {!isDone && <p>{about}</p>}
              {!isDone && children}
            </div>
            {!isDone && (
              <a class="button" href={href(path, query)}>
                {action} <Icon name="right" />
              </a>
            )}
          </li>
        ))}
      </ol>
      <p class="faint">
        You have a list already? <a href={href('/imports')}>Import it</a>: CSV, Excel, NDJSON or Parquet.
      </p>
    </section>
  );
}
