/** What came from tools in the period, and what became of it; each figure leads to its calls. */
import { useRead } from '../data';
import { client, href } from '../route';
import { isAdmin, session } from '../session';
import { listed } from '../webhooks/list';
import { LoadProblem } from '../ui/basic';
import { count } from '../words';

interface Counted {
  data: { channel: string; tool: string | null; state: string; count: number }[];
  complete: boolean;
}

interface Refusals {
  data: { received_at: string; calls: number }[];
  next_cursor: string | null;
}

const MOST_REFUSALS = '200';

async function read(since: string, signal: AbortSignal) {
  const [counts, refusals] = await Promise.all([
    listed<Counted>('/admin/v1/deliveries/counts', { received_since: since }, { data: [], complete: true }, signal),
    listed<Refusals>('/admin/v1/refusals', { limit: MOST_REFUSALS }, { data: [], next_cursor: null }, signal),
  ]);
  return { counts, refusals };
}

export function CallFigures({ since }: { since: string }) {
  const loaded = useRead(`/admin/v1/deliveries/counts and refusals ${since}`, (signal) => read(since, signal));
  if (!isAdmin.value || !(client.value || session.value?.client_id)) return null;
  const of = (...states: string[]) => (loaded.data?.counts.data ?? []).filter((each) => !states.length || states.includes(each.state)).reduce((sum, each) => sum + each.count, 0);
  const more = loaded.data && !loaded.data.counts.complete ? '+' : '';
  const listedRefusals = loaded.data?.refusals.data ?? [];
  const inTime = listedRefusals.filter((each) => each.received_at >= since);
  const refused = count(inTime.reduce((sum, each) => sum + each.calls, 0)) + (loaded.data?.refusals.next_cursor && inTime.length === listedRefusals.length ? '+' : '');
  const figures: readonly (readonly [string, string, string, Record<string, string>])[] = [
    ['Received', count(of()) + more, 'webhooks', {}],
    ['Processed', count(of('applied', 'ignored')) + more, 'webhooks', { state: 'applied' }],
    ['Waiting', count(of('received')), 'to be processed', { state: 'received' }],
    ['Not recognised', count(of('unrecognised', 'parked')), 'or incomplete', { tab: 'problems' }],
    ['Failed', count(of('failed')), 'to be processed', { state: 'failed' }],
    ['Refused', refused, 'and not stored', { tab: 'refused' }],
  ];
  return (
    <section aria-labelledby="calls">
      <h2 id="calls">Webhooks from tools</h2>
      <LoadProblem of={loaded} />
      <dl class="call-figures" aria-busy={loaded.isFetching && !loaded.data ? true : undefined}>
        {figures.map(([name, value, of, query]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <a href={href('/webhooks', query)}>
                <b>{loaded.data ? value : '\u00a0'}</b> <span class="faint">{of}</span>
              </a>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
