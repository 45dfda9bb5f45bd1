/** What came from tools in the period, and what became of it; each figure leads to its calls. */
import { useLoad } from '../load';
import { client, href } from '../route';
import { isAdmin, session } from '../session';
import { listed } from '../inbox/screen';
import { ProblemNote } from '../ui/basic';
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

export function CallFigures({ days }: { days: number }) {
  const since = new Date(Date.now() - days * 86_400_000).toISOString();
  const loaded = useLoad(`calls ${client.value} ${days}`, (signal) => read(since, signal));
  if (!isAdmin.value || !(client.value || session.value?.client_id)) return null;
  const of = (...states: string[]) => (loaded.value?.counts.data ?? []).filter((each) => !states.length || states.includes(each.state)).reduce((sum, each) => sum + each.count, 0);
  const more = loaded.value && !loaded.value.counts.complete ? '+' : '';
  const listedRefusals = loaded.value?.refusals.data ?? [];
  const inTime = listedRefusals.filter((each) => each.received_at >= since);
  const refused = count(inTime.reduce((sum, each) => sum + each.calls, 0)) + (loaded.value?.refusals.next_cursor && inTime.length === listedRefusals.length ? '+' : '');
  const figures: readonly (readonly [string, string, string, Record<string, string>])[] = [
    ['Received', count(of()) + more, 'calls', {}],
    ['Applied', count(of('applied', 'ignored')) + more, 'ignored ones too', { state: 'applied' }],
    ['Waiting', count(of('received')), 'to be applied', { state: 'received' }],
    ['Not understood', count(of('unrecognised', 'parked')), 'or incomplete', { tab: 'problems' }],
    ['Failed', count(of('failed')), 'to apply', { state: 'failed' }],
    ['Refused', refused, 'and not stored', { tab: 'refused' }],
  ];
  return (
    <section aria-labelledby="calls">
      <h2 id="calls">Calls from tools</h2>
      {loaded.problem && <ProblemNote problem={loaded.problem} retry={loaded.reload} />}
      <dl class="call-figures" aria-busy={loaded.loading && !loaded.value ? true : undefined}>
        {figures.map(([name, value, of, query]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <a href={href('/inbox', query)}>
                <b>{loaded.value ? value : '\u00a0'}</b> <span class="faint">{of}</span>
              </a>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
