/** The overview of all clients: the sums, and a line for each client. */
import type { ComponentChildren } from 'preact';
import { get } from '../api';
import { useGet, useRead } from '../data';
import { go, href, place } from '../route';
import { clients, isAdmin } from '../session';
import { Empty, Icon, LoadProblem, Skeleton, Time } from '../ui/basic';
import { useCounters } from '../replies/conversations';
import { useTitle } from '../title';
import { atMost, count, percent } from '../words';
import type { Schemas } from '../types';
import { Attention, useAttention, type Item } from './attention';
import { Days } from './days';
import { Before, Figures, type Row } from './figures';
import { RECEIVED } from './first-steps';
import { counted, iso, periodOf, Periods, periodQuery, type Period } from './period';
import { Work } from './work';

/** Rows of all clients, and those of the period before. */
export interface AllRows {
  rows: Row[];
  before: Row[] | undefined;
}

/** A report of all clients, page by page. */
export async function reportOfAll({ query, isCompared }: Period, group_by: string, signal: AbortSignal): Promise<AllRows> {
  const all: AllRows = { rows: [], before: isCompared ? [] : undefined };
  let cursor: string | null = '';
  while (cursor !== null) {
    const page: Schemas['ClientCampaignReport'] = await get('/admin/v1/reports/campaigns', { ...query, group_by, limit: '200', ...(cursor && { cursor }) }, signal);
    all.rows.push(...page.data);
    all.before?.push(...(page.previous?.data ?? []));
    cursor = page.next_cursor;
  }
  return all;
}

async function read(period: Period, signal: AbortSignal) {
  const [sums, days] = await Promise.all([reportOfAll(period, 'client', signal), reportOfAll(period, 'day', signal)]);
  return { sums, days };
}

/** The parts come one by one; each has its room from when the first, whose height is unknown, is there. */
export function AllClients({ steps, isHeld }: { steps: ComponentChildren; isHeld: boolean }) {
  const period = periodOf();
  const attention = useAttention('');
  const loaded = useRead(`/admin/v1/reports/campaigns of all kinds ${JSON.stringify(period.query)}`, (signal) => read(period, signal));
  useTitle('All clients', useCounters('', true).data?.attention);
  const found = loaded.data;
  return (
    <main id="main" class="screen overview">
      <header class="screen-head">
        <h1>All clients</h1>
        <span class="push" />
        <Periods />
      </header>
      {steps}
      <LoadProblem of={loaded} />
      <LoadProblem of={attention} />
      {isHeld || (!attention.data && !attention.error) ? (
        <Skeleton lines={12} wide={100} />
      ) : (
        <>
          <Attention page={attention.data} of="" isAll />
          <Work of="" />
          <Figures rows={loaded.error ? [] : found?.sums.rows} before={found?.sums.before} />
          <Days rows={found?.days.rows ?? []} before={found?.days.before} period={period} link={(_, at) => go('/reports', { ...periodQuery(), by: 'client', day: iso(at) })} />
          {found ? <Lines all={found.sums} items={attention.data?.next_cursor ? [] : (attention.data?.data ?? [])} /> : !loaded.error && <Skeleton lines={8} wide={100} />}
        </>
      )}
    </main>
  );
}

/** The columns of numbers; the list is sorted by one, the highest number first. */
const COLUMNS = [['open', 'Open'], ['needs', 'Needs you'], ['mailed', 'Emailed'], ['replied', 'Replied'], ['rate', 'Rate'], ['bounced', 'Bounced'], ['last', 'Last call']] as const;

function Lines({ all, items }: { all: AllRows; items: readonly Item[] }) {
  const open = new Map(useCounters('', true).data?.clients?.map((each) => [each.client_id, each.open]));
  const needs = new Map<string, number>();
  for (const { client_id: id } of items) if (id) needs.set(id, (needs.get(id) ?? 0) + 1);
  const calls = new Map(useGet<Schemas['ClientReceipts']>(RECEIVED, {}, { enabled: isAdmin.value }).data?.data.map((each) => [each.client_id, each.received_at]));
  const columns = COLUMNS.filter(([key]) => key !== 'last' || isAdmin.value);
  const by = columns.find(([key]) => key === place.value.query.get('by'))?.[0] ?? 'mailed';
  const rows = new Map(all.rows.map((each) => [each.client_id ?? '', each]));
  const before = new Map(all.before?.map((each) => [each.client_id ?? '', each]));
  const then = (id: string, key: 'mailed' | 'replied' | 'bounced') => (all.before ? count(before.get(id)?.[key] ?? 0) : undefined);
  const ids = [...new Set([...calls.keys(), ...open.keys(), ...rows.keys(), ...before.keys()])];
  const lines = ids
    .map((id) => {
      const row = rows.get(id);
      return { id, row, open: open.get(id) ?? 0, needs: needs.get(id) ?? 0, mailed: row?.mailed ?? 0, replied: row?.replied ?? 0, bounced: row?.bounced ?? 0, rate: row?.reply_rate ?? 0, last: Date.parse(calls.get(id) ?? '') || 0 };
    })
    .sort((a, b) => b[by] - a[by]);
  const named = new Map(clients.value.map((each) => [each.client_id, each.name]));
  const list = ({ id, row }: (typeof lines)[number], key: 'mailed' | 'replied' | 'bounced') => (
    <td class="number">
      {row?.[key] ? <a href={href('/contacts', counted(key, row.begins_at, row.ends_at), id)}>{count(row[key])}</a> : 0} <Before value={then(id, key)} />
    </td>
  );
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
            {columns.map(([key, name]) => (
              <th key={key} scope="col" class="number" aria-sort={key === by ? 'descending' : undefined}>
                <button type="button" class="sorts" onClick={() => go('/', { ...periodQuery(), by: key === 'mailed' ? '' : key }, true)}>
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
                <a href={href('/', periodQuery(), each.id)}>{named.get(each.id) || each.id}</a>
              </th>
              <td class="number">{open.has(each.id) && <a href={href('/replies', {}, each.id)}>{atMost(each.open)}</a>}</td>
              <td class="number">{needs.has(each.id) && <a href={href('/', {}, each.id)}>{count(each.needs)}</a>}</td>
              {list(each, 'mailed')}
              {list(each, 'replied')}
              <td class="number">{percent(each.row?.reply_rate ?? null)}</td>
              {list(each, 'bounced')}
              {isAdmin.value && (
                <td class="number">{each.last > 0 && <a href={href('/webhooks', {}, each.id)}><Time at={calls.get(each.id)} /></a>}</td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
