/** Attempts of one endpoint, newest first, page by page. */
import { call } from '../api';
import { usePages } from '../data';
import { go, place } from '../route';
import { Button, ProblemNote, Skeleton, Time } from '../ui/basic';
import { Mark, type Group, type Hue } from '../ui/status';
import { toast, toastProblem } from '../ui/toast';
import { words } from '../words';
import { OUTCOMES, type Attempt } from './types';

const LOOKS: Record<string, readonly [Hue, Group]> = { delivered: ['green', 'won'], skipped: ['grey', 'lost'] };
const LIMIT = '25';

interface AttemptsProps {
  id: number;
  path: string;
  isShared: boolean;
  changed: () => void;
}

export function Attempts({ id, path, isShared, changed }: AttemptsProps) {
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
          <AttemptRow key={`${each.client_id ?? ''} ${each.id}`} one={each} changed={changed} />
        ))}
      </ol>
      {hasMore && <Button onClick={more}>Show older attempts</Button>}
    </section>
  );
}

function AttemptRow({ one, changed }: { one: Attempt; changed: () => void }) {
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
          {one.event !== null && (
            <Button icon="replay" onClick={() => void again()}>
              Send this event again
            </Button>
          )}
        </div>
      </details>
    </li>
  );
}
