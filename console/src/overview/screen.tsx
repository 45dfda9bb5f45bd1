/** The overview: what needs attention, what came of the mails, where the contacts stand. */
import { get } from '../api';
import { useGet, useRead } from '../data';
import { client, href, place } from '../route';
import { choosesClient, clients, isAdmin, session, showsAll } from '../session';
import { useTitle } from '../title';
import type { Page, Status } from '../types';
import { Empty, ProblemNote, Skeleton } from '../ui/basic';
import { hueOf, StatusMark } from '../ui/status';
import { count, percent, toolName } from '../words';
import { AllClients } from './all';
import { Attention, useAttention } from './attention';
import { CallFigures } from './calls';
import { Days } from './days';
import { Figures, Periods, type Row } from './figures';
import { Funnel } from './funnel';
import { OverTime } from './over-time';
import { Start } from './start';
import { Work } from './work';

interface Report {
  data: Row[];
}

interface Reports {
  tools: Row[];
  campaigns: Row[];
  days: Row[];
}

async function readReports(since: string, signal: AbortSignal): Promise<Reports> {
  const zone = { since, time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone };
  const report = (group_by: string) => get<Report>('/public/v2/reports/campaigns', { ...zone, group_by }, signal);
  const [tools, campaigns, days] = await Promise.all([report('tool'), report('campaign'), report('day')]);
  return { tools: tools.data, campaigns: campaigns.data, days: days.data };
}

export function Overview() {
  if (isAdmin.value && choosesClient.value && !clients.value.length) return <Start />;
  return showsAll.value ? <AllClients /> : <OneClient />;
}

/** The parts come one by one, as reports over millions of events take longer; each has its room from the beginning. */
function OneClient() {
  const since = place.value.query.get('since') ?? '30d';
  const attention = useAttention(client.value || session.value?.client_id || '');
  const reports = useRead(`/public/v2/reports/campaigns of all kinds ${since}`, (signal) => readReports(since, signal));
  const statuses = useGet<Page<Status>>('/public/v2/statuses/contacts', { limit: '200' });
  const all = [attention, reports, statuses];
  useTitle('Overview');
  const id = client.value || session.value?.client_id || '';
  const name = clients.value.find((each) => each.client_id === id)?.name || id;
  return (
    <main id="main" class="screen overview">
      <header class="screen-head">
        <h1>{name || 'Overview'}</h1>
        <span class="push" />
        <Periods since={since} />
      </header>
      {all.map((each) => each.error && <ProblemNote key={each.error.message} problem={each.error} retry={() => void each.refetch()} />)}
      {!attention.data && !attention.error ? (
        <Skeleton lines={12} wide={100} />
      ) : (
        <>
          <Attention items={attention.data?.data ?? []} isAll={false} />
          <Work of={id} />
          <Figures rows={reports.error ? [] : reports.data?.tools} />
          <Days days={reports.data?.days ?? []} since={since} />
          <CallFigures days={Number.parseInt(since, 10)} />
          <OverTime since={since} />
          <div class="pairs">
            {reports.data ? <Campaigns rows={reports.data.campaigns} /> : reports.isFetching && <Skeleton lines={6} wide={100} />}
            {statuses.data ? <Statuses statuses={statuses.data.data} /> : statuses.isFetching && <Skeleton lines={6} wide={100} />}
            <Funnel since={since} />
          </div>
        </>
      )}
    </main>
  );
}

function Campaigns({ rows }: { rows: readonly Row[] }) {
  const sorted = [...rows].sort((a, b) => b.mailed - a.mailed);
  return (
    <section aria-labelledby="campaigns">
      <h2 id="campaigns">Campaigns</h2>
      {sorted.length === 0 ? (
        <Empty icon="mail" title="No emails in this time">
          <p>As soon as a campaign tool reports its emails, each campaign has a line here.</p>
          <a class="button" href={href('/webhooks')}>
            Show the addresses for tools
          </a>
        </Empty>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Campaigns, by emails">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Campaign</th>
                <th scope="col" class="number">Emailed</th>
                <th scope="col" class="number">Replied</th>
                <th scope="col" class="number">Rate</th>
                <th scope="col" class="number">Bounced</th>
              </tr>
            </thead>
            <tbody>
              {sorted.slice(0, 50).map((each) => (
                <tr key={`${each.tool} ${each.campaign_id} ${each.campaign}`}>
                  <th scope="row">
                    {each.campaign ?? each.campaign_id ?? 'No campaign named'} <span class="faint">{toolName(each.tool)}</span>
                  </th>
                  <td class="number">{count(each.mailed)}</td>
                  <td class="number">{count(each.mailed_replied)}</td>
                  <td class="number">{percent(each.reply_rate)}</td>
                  <td class="number">{count(each.bounced)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** Where the contacts stand; each line leads to them. */
function Statuses({ statuses }: { statuses: readonly Status[] }) {
  const used = statuses.filter((each) => each.records > 0).sort((a, b) => b.records - a.records);
  const most = used[0]?.records ?? 1;
  return (
    <section aria-labelledby="statuses">
      <h2 id="statuses">Contacts by status</h2>
      {used.length === 0 && <p class="faint">No contact has a status yet. It comes with the first email or reply.</p>}
      <ul class="bars">
        {used.map((each) => (
          <li key={each.name}>
            <a href={href('/contacts', { 'contact_status[in]': each.name })} class={`hue-${hueOf(each.name)}`}>
              <span class="line">
                <StatusMark status={each.name} />
                <b>{count(each.records)}</b>
              </span>
              <span class="track">
                <span style={{ width: `${(each.records / most) * 100}%` }} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
