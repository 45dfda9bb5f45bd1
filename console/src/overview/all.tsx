/** The overview of all clients: the sums, and a line for each client. */
import { get } from '../api';
import { useRead } from '../data';
import { go, href, place } from '../route';
import { clients } from '../session';
import { Empty, Icon, ProblemNote, Skeleton } from '../ui/basic';
import { useCounters } from '../replies/conversations';
import { useTitle } from '../title';
import { atMost, count, percent } from '../words';
import { Attention, useAttention, type Item } from './attention';
import { Days } from './days';
import { Figures, Periods, type Row } from './figures';
import { Work } from './work';

interface ClientRow extends Row {
  client_id: string;
}

interface Rows {
  data: ClientRow[];
  next_cursor: string | null;
}

/** A report of all clients, page by page. */
async function report(since: string, group_by: string, signal: AbortSignal): Promise<ClientRow[]> {
  const query = { since, group_by, limit: '200', time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone };
  const rows: ClientRow[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page: Rows = await get<Rows>('/admin/v1/reports/campaigns', { ...query, ...(cursor && { cursor }) }, signal);
    rows.push(...page.data);
    cursor = page.next_cursor;
  }
  return rows;
}

async function read(since: string, signal: AbortSignal) {
  const [tools, days] = await Promise.all([report(since, 'tool', signal), report(since, 'day', signal)]);
  const byDay = new Map<string, ClientRow>();
  for (const each of days) {
    const day = byDay.get(each.begins_at);
    byDay.set(each.begins_at, day ? { ...day, mailed: day.mailed + each.mailed, replied: day.replied + each.replied, bounced: day.bounced + each.bounced } : each);
  }
  return { tools, days: [...byDay.values()] };
}

/** The numbers of each client with emails or open replies. */
function linesOf(rows: readonly ClientRow[], open: ReadonlyMap<string, number>, needs: ReadonlyMap<string, number>) {
  const none = { mailed: 0, replied: 0, mailed_replied: 0, bounced: 0 };
  const sums = new Map([...open.keys()].map((id) => [id, { id, ...none }]));
  for (const each of rows) {
    const sum = sums.get(each.client_id) ?? { id: each.client_id, ...none };
    for (const key of ['mailed', 'replied', 'mailed_replied', 'bounced'] as const) sum[key] += each[key];
    sums.set(each.client_id, sum);
  }
  return [...sums.values()].map((sum) => ({ ...sum, open: open.get(sum.id) ?? 0, needs: needs.get(sum.id) ?? 0, rate: sum.mailed ? sum.mailed_replied / sum.mailed : 0 }));
}

export function AllClients() {
  const since = place.value.query.get('since') ?? '30d';
  const attention = useAttention('');
  const loaded = useRead(`/admin/v1/reports/campaigns of all kinds ${since}`, (signal) => read(since, signal));
  useTitle('All clients');
  const found = loaded.data;
  return (
    <main id="main" class="screen overview">
      <header class="screen-head">
        <h1>All clients</h1>
        <span class="push" />
        <Periods since={since} />
      </header>
      {loaded.error && <ProblemNote problem={loaded.error} retry={() => void loaded.refetch()} />}
      {!found && !loaded.error && <Skeleton lines={12} wide={100} />}
      {attention.error && <ProblemNote problem={attention.error} retry={() => void attention.refetch()} />}
      <Attention items={attention.data?.data ?? []} isAll />
      <Work of="" />
      {found && <Figures rows={found.tools} />}
      {found && <Days days={found.days} since={since} />}
      {found && <Lines rows={found.tools} items={attention.data?.next_cursor ? [] : (attention.data?.data ?? [])} since={since} />}
    </main>
  );
}

/** The columns of numbers; the list is sorted by one, the highest number first. */
const COLUMNS = [['open', 'Open'], ['needs', 'Needs you'], ['mailed', 'Emailed'], ['replied', 'Replied'], ['rate', 'Rate'], ['bounced', 'Bounced']] as const;

function Lines({ rows, items, since }: { rows: readonly ClientRow[]; items: readonly Item[]; since: string }) {
  const open = new Map(useCounters('', true).data?.clients?.map((each) => [each.client_id, each.open]));
  const needs = new Map<string, number>();
  for (const { client_id: id } of items) if (id) needs.set(id, (needs.get(id) ?? 0) + 1);
  const by = COLUMNS.find(([key]) => key === place.value.query.get('by'))?.[0] ?? 'mailed';
  const lines = linesOf(rows, open, needs).sort((a, b) => b[by] - a[by]);
  const named = new Map(clients.value.map((each) => [each.client_id, each.name]));
  if (!lines.length) {
    return (
      <Empty icon="mail" title="No emails in this time">
        <p>Each client whose tools report emails or replies has a line here.</p>
      </Empty>
    );
  }
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Clients">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Client</th>
            {COLUMNS.map(([key, name]) => (
              <th key={key} scope="col" class="number" aria-sort={key === by ? 'descending' : undefined}>
                <button type="button" class="sorts" onClick={() => go('/', { since: since === '30d' ? '' : since, by: key === 'mailed' ? '' : key }, true)}>
                  {name}
                  {key === by && <Icon name="down" />}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((each) => (
            <tr key={each.id}>
              <th scope="row">
                <a href={href('/', { since: since === '30d' ? '' : since }, each.id)}>{named.get(each.id) || each.id}</a>
              </th>
              <td class="number">{open.has(each.id) && <a href={href('/replies', {}, each.id)}>{atMost(each.open)}</a>}</td>
              <td class="number">{needs.has(each.id) && <a href={href('/', {}, each.id)}>{count(each.needs)}</a>}</td>
              <td class="number">{count(each.mailed)}</td>
              <td class="number">{count(each.replied)}</td>
              <td class="number">{percent(each.mailed ? each.rate : null)}</td>
              <td class="number">{count(each.bounced)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
