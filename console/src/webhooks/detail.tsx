/** One call: its body as it came, next to what was read from it. */
import { useState } from 'preact/hooks';
import { call as send } from '../api';
import { useShortcuts } from '../keys';
import { readAgain, useGet } from '../data';
import { Pointing, whyNotMapped } from '../mapping/panel';
import { href, place } from '../route';
import type { WholeDelivery } from '../types';
import { Button, Icon, LoadProblem, Skeleton, Time } from '../ui/basic';
import { copy } from '../ui/overlay';
import { StatusMark } from '../ui/status';
import { toast, toastProblem } from '../ui/toast';
import { bytes, longTime, toolName, words } from '../words';

const MEANINGS: Record<string, string> = {
  received: 'It is stored and waits to be read.',
  applied: 'It was processed, and changed a record or its history.',
  ignored: 'It was processed, and says nothing new.',
  parked: 'It is about an object whose address no webhook has named yet. It is applied as soon as one does.',
  unrecognised: 'No adapter recognises it. It is stored, and can be replayed after an upgrade or with a mapping.',
  failed: 'Reading it raised an error. It is stored, and can be replayed.',
};

const REMOVED: Record<NonNullable<WholeDelivery['body_removed']>['why'], string> = {
  erased: 'it was about a person who was erased',
  retention: 'it was older than bodies are stored',
  unsearchable: 'an erasure could not search it for the person, so it was removed to be safe',
};

export function Detail({ id }: { id: string }) {
  const loaded = useGet<WholeDelivery>(`/admin/v1/deliveries/${encodeURIComponent(id)}`, {}, { refetchInterval: (of) => (of.state.data?.state === 'received' ? 700 : false) });
  const call = loaded.data;
  const [points, setPoints] = useState(false);

  async function replay() {
    try {
      await send('POST', `/admin/v1/deliveries/${encodeURIComponent(id)}/replay`);
      toast('The webhook is read again. What is known already changes nothing.');
      readAgain('/admin/v1/deliveries');
    } catch (error) {
      toastProblem(error);
    }
  }
  useShortcuts(() => [{ keys: 'r', does: 'Replay the webhook', group: 'Webhooks', run: () => void replay() }]);

  const back = href('/webhooks', [...place.value.query]);
  return (
    <section class="inbox-detail" aria-label={`Webhook ${id}`}>
      <a class="back" href={back}>
        <Icon name="left" /> All webhooks
      </a>
      <LoadProblem of={loaded} />
      {!call && !loaded.error && <Skeleton lines={10} wide={90} />}
      {call && (
        <>
          <header class="detail-head">
            <div>
              <h2>
                {toolName(call.tool)} <span class="faint">webhook {call.id}</span>
              </h2>
              <p class="faint">
                {longTime(call.received_at)}, {bytes(call.size)}, {call.channel === 'crm' ? 'CRM' : 'campaign tool'}
                {call.verified && ', signature valid'}
                {call.repeats > 0 && `, repeated ${call.repeats} times`}
                {call.attempts > 1 && `, ${call.attempts} attempts`}
              </p>
            </div>
            <StatusMark status={call.state} />
            {!points && call.state === 'unrecognised' && whyNotMapped(call) === '' && (
              <Button kind="main" icon="edit" onClick={() => setPoints(true)}>
                Map fields
              </Button>
            )}
            <Button icon="replay" onClick={() => void replay()}>
              Replay
            </Button>
          </header>
          <p class={call.state === 'unrecognised' || call.state === 'failed' ? 'meaning warn' : 'meaning'}>
            {MEANINGS[call.state]} {call.error && <span class="reason">The reason: {call.error.replace(/\.$/, '')}.</span>} {call.state === 'unrecognised' && whyNotMapped(call)}
          </p>
          {call.problems.map((each) => (
            <p key={each.code} class="wrong">
              {each.detail}
            </p>
          ))}
          {points ? (
            <Pointing
              call={call}
              onClose={() => setPoints(false)}
              onDone={() => {
                setPoints(false);
                readAgain('/admin/v1/deliveries');
              }}
            />
          ) : (
            <div class="sides">
              <Body call={call} />
              <Understood call={call} />
            </div>
          )}
        </>
      )}
    </section>
  );
}

function Body({ call }: { call: WholeDelivery }) {
  const text = call.body === null ? '' : pretty(call.body.content);
  return (
    <section aria-labelledby="body">
      <header class="row">
        <h3 id="body">What the tool sent</h3>
        <span class="push" />
        {call.body && <Button kind="quiet" icon="copy" label="Copy the body" onClick={() => void copy(text).then(() => toast('The body is copied.'))} />}
      </header>
      {call.body === null ? (
        <p class="faint">The body was removed{call.body_removed ? `: ${REMOVED[call.body_removed.why]}` : ''}. It cannot be replayed.</p>
      ) : (
        <pre class="code body" tabIndex={0} aria-label="Body">
          {call.body.encoding === 'utf-8' ? text : `(${call.body.encoding})\n${text}`}
        </pre>
      )}
      <details>
        <summary>Headers</summary>
        <dl class="changes">
          {Object.entries(call.headers).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </details>
    </section>
  );
}

function Understood({ call }: { call: WholeDelivery }) {
  return (
    <section aria-labelledby="understood">
      <header class="row">
        <h3 id="understood">What it says</h3>
      </header>
      {call.events.length === 0 && <p class="faint">{call.state === 'received' ? 'It is being read…' : 'Nothing was taken from it.'}</p>}
      <ul class="said">
        {call.events.map((each, n) => (
          <li key={n}>
            <p class="strong">{words(each.event)}</p>
            <dl class="changes">
              {each.record_id !== null && (
                <div>
                  <dt>About</dt>
                  <dd>{each.record === 'contact' ? <a href={href(`/contacts/${each.record_id}`)}>Contact {each.record_id}</a> : `${words(each.record ?? 'record')} ${each.record_id}`}</dd>
                </div>
              )}
              {each.occurred_at && (
                <div>
                  <dt>At</dt>
                  <dd>
                    <Time at={each.occurred_at} />
                  </dd>
                </div>
              )}
              {each.campaign && (
                <div>
                  <dt>Campaign</dt>
                  <dd>{each.campaign}</dd>
                </div>
              )}
              {each.status && (
                <div>
                  <dt>Status</dt>
                  <dd><StatusMark status={each.status} /></dd>
                </div>
              )}
            </dl>
          </li>
        ))}
      </ul>
    </section>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
