/** Attempts of one endpoint, newest first, page by page, with what was sent. */
import { useState } from 'preact/hooks';
import { call } from '../api';
import { usePages, useRead } from '../data';
import { go, place } from '../route';
import { Button, ProblemNote, Skeleton, Time } from '../ui/basic';
import { Mark, type Group, type Hue } from '../ui/status';
import { copy } from '../ui/overlay';
import { toast, toastProblem } from '../ui/toast';
import { words } from '../words';
import { OF_ONE, OUTCOMES, type Attempt, type AttemptRequest, type Kind } from './types';

const LOOKS: Record<string, readonly [Hue, Group]> = { delivered: ['green', 'won'], skipped: ['grey', 'lost'] };
const LIMIT = '25';

interface AttemptsProps {
  id: number;
  kind: Kind;
  path: string;
  isShared: boolean;
  changed: () => void;
}

export function Attempts({ id, kind, path, isShared, changed }: AttemptsProps) {
  const outcome = place.value.query.get('outcome') ?? '';
  const { data, error, hasMore, more, refetch } = usePages<Attempt>(isShared ? '/team/v1/webhook-attempts' : '/public/v2/webhook-attempts', { endpoint: String(id), limit: LIMIT, ...(outcome && { outcome }) });
  return (
    <section aria-labelledby="attempts">
      <header class="part-head">
        <h2 id="attempts">Attempts</h2>
        <label>
          <span class="hidden">Outcome</span>
          <select value={outcome} onChange={(event) => go(path, { outcome: event.currentTarget.value }, true)}>
            <option value="">All outcomes</option>
            {OUTCOMES.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
      </header>
      {error && <ProblemNote problem={error} retry={refetch} />}
      {!data && !error && <Skeleton lines={6} wide={90} />}
      {data?.length === 0 && <p class="faint">{outcome ? 'No attempt ended like this.' : 'No attempt yet. Send a test to see the first one.'}</p>}
      <ol class="attempts">
        {data?.map((each) => (
          <AttemptRow key={`${each.client_id ?? ''} ${each.id}`} one={each} isShown={!OF_ONE.includes(kind)} changed={changed} />
        ))}
      </ol>
      {hasMore && <Button onClick={more}>Show older attempts</Button>}
    </section>
  );
}

function AttemptRow({ one, isShown, changed }: { one: Attempt; isShown: boolean; changed: () => void }) {
  const [open, setOpen] = useState(false);
  const note = one.error || one.response_body;
  async function again() {
    if (one.event === null) return;
    try {
      const headers = { 'x-client-id': one.client_id ?? '' };
      await call('POST', `/public/v2/webhook-endpoints/${one.endpoint_id}/replay`, { body: { event: one.event }, headers });
      toast(`${one.event} is sent again.`);
      changed();
    } catch (error) {
      toastProblem(error);
    }
  }
  const [hue, group] = LOOKS[one.outcome] ?? (['red', 'lost'] as const);
  return (
    <li class="attempt">
      <details>
        <summary>
          <Mark hue={hue} group={group}>
            {words(one.outcome)}
          </Mark>
          <span class="cut type">{one.type}</span>
          <span class="figure">{one.status}</span>
          <span class="figure">{one.latency_ms < 1000 ? `${Math.round(one.latency_ms)} ms` : `${(one.latency_ms / 1000).toFixed(1)} s`}</span>
          <Time at={one.time} as="ago" />
        </summary>
        <div class="attempt-more">
          <p class="faint">
            {one.event ?? 'a test'}, attempt {one.attempt}
          </p>
          {note ? (
            <pre class="code" dir="auto" tabIndex={0} aria-label="The response">
              {note}
            </pre>
          ) : (
            <p class="faint">The response has no body.</p>
          )}
          {open && <Request of={one} />}
          <div class="attempt-acts">
            {isShown && !open && (
              <Button icon="outgoing" onClick={() => setOpen(true)}>
                Show the request
              </Button>
            )}
            {one.event !== null && (
              <Button icon="replay" onClick={() => void again()}>
                Send this event again
              </Button>
            )}
          </div>
        </div>
      </details>
    </li>
  );
}

/** The request of an attempt, rebuilt by the server, and what has changed since. */
function Request({ of }: { of: Attempt }) {
  const path = `/${of.client_id === null ? 'team/v1' : 'public/v2'}/webhook-attempts/${of.id}/request`;
  const headers: Record<string, string> = of.client_id === null ? {} : { 'x-client-id': of.client_id };
  const { data, error, refetch } = useRead(`${of.client_id ?? ''} ${path}`, async (signal) => (await call<AttemptRequest>('GET', path, { headers, signal })).data);
  if (error) return <ProblemNote problem={error} retry={() => void refetch()} />;
  if (!data) return <Skeleton lines={6} wide={90} />;
  const { curl } = data;
  const lines = [`${data.method} ${data.url}`, ...Object.entries(data.headers).map(([name, value]) => `${name}: ${value}`), '', data.body];
  return (
    <>
      <p class="faint">
        Rebuilt from the event.{' '}
        {data.changed.length ? `What was sent may have been different: ${data.changed.join('; ')}.` : 'Endpoint and record have not changed since.'}
      </p>
      <pre class="code" dir="auto" tabIndex={0} aria-label="The request">
        {lines.join('\n')}
      </pre>
      {curl !== null && (
        <Button icon="copy" onClick={() => void copy(curl).then(() => toast('The curl command is copied.'), () => toast('The browser does not allow copying here. Select the text instead.', { bad: true }))}>
          Copy as curl
        </Button>
      )}
    </>
  );
}
