/** Attempts of one endpoint, newest first, page by page. */
import { useEffect, useState } from 'preact/hooks';
import { asProblem, get, post, type Problem } from '../api';
import { client, go, place } from '../route';
import type { Page } from '../types';
import { Button, ProblemNote, Skeleton, Time } from '../ui/basic';
import { toast, toastProblem } from '../ui/toast';
import { OUTCOMES, type Attempt } from './types';

const HUES: Record<string, string> = { delivered: 'good', skipped: 'none', refused: 'bad', timeout: 'bad', unreachable: 'bad' };
const LIMIT = '25';

interface Found {
  key: string;
  data: Attempt[];
  next: string | null;
}

interface AttemptsProps {
  id: number;
  path: string;
  /** Another number loads them again. */
  round: number;
  changed: () => void;
}

export function Attempts({ id, path, round, changed }: AttemptsProps) {
  const outcome = place.value.query.get('outcome') ?? '';
  const key = `${client.value} ${id} ${outcome}`;
  const [found, setFound] = useState<Found | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  async function load(cursor: string | null, signal?: AbortSignal) {
    try {
      const query = { endpoint: String(id), limit: LIMIT, ...(outcome && { outcome }), ...(cursor && { cursor }) };
      const page = await get<Page<Attempt>>('/public/v2/webhook-attempts', query, signal);
      setFound((old) => ({ key, data: cursor && old ? [...old.data, ...page.data] : page.data, next: page.next_cursor }));
      setProblem(null);
    } catch (error) {
      if (!signal?.aborted) setProblem(asProblem(error));
    }
  }
  useEffect(() => {
    const abort = new AbortController();
    void load(null, abort.signal);
    return () => abort.abort();
  }, [key, round]);
  const known = found?.key === key ? found : null;
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
      {problem && <ProblemNote problem={problem} retry={() => void load(null)} />}
      {!known && !problem && <Skeleton lines={6} wide={90} />}
      {known && !known.data.length && <p class="faint">{outcome ? 'No attempt ended like this.' : 'No attempt yet. Send a test to see the first one.'}</p>}
      <ol class="attempts">
        {known?.data.map((each) => (
          <AttemptRow key={each.id} one={each} changed={changed} />
        ))}
      </ol>
      {known?.next && <Button onClick={() => void load(known.next)}>Show older attempts</Button>}
    </section>
  );
}

function AttemptRow({ one, changed }: { one: Attempt; changed: () => void }) {
  const note = one.error || one.response_body;
  async function again() {
    if (one.event === null) return;
    try {
      await post(`/public/v2/webhook-endpoints/${one.endpoint_id}/replay`, { event: one.event });
      toast(`${one.event} is sent again.`);
      changed();
    } catch (error) {
      toastProblem(error);
    }
  }
  return (
    <li class="attempt">
      <details>
        <summary>
          <span class={`status hue-${HUES[one.outcome] ?? 'none'}`}>
            <span class="dot" aria-hidden="true" />
            <span class="cut">{one.outcome}</span>
          </span>
          <span class="cut type">{one.type}</span>
          <span class="figure">{one.status ?? '–'}</span>
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
