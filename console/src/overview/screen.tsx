/** The overview: what needs attention, what came of the mails, where the contacts stand. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { get } from '../api';
import { useGet, useRead } from '../data';
import { client, go, href } from '../route';
import { areClientsKnown, clients, isAdmin, seesEveryClient, session, showsAll } from '../session';
import { useTitle } from '../title';
import type { Page, Schemas, Status } from '../types';
import { Empty, ProblemNote, Skeleton } from '../ui/basic';
import { later } from '../ui/later';
import { hueOf, StatusMark } from '../ui/status';
import { count, percent, toolName } from '../words';
import { AllClients } from './all';
import { Attention, useAttention } from './attention';
import { CallFigures } from './calls';
import { Days } from './days';
import { Figures, type Report, type Row } from './figures';
import { areStepsReady, firstSteps, RECEIVED, setFirstSteps } from './first-steps';
import { counted, iso, midnight, periodOf, Periods, periodQuery, type Period } from './period';
import { Work } from './work';

const OverTime = later(() => import('../more').then((all) => all.OverTime), true);
const Funnel = later(() => import('../more').then((all) => all.Funnel), true);

interface Reports {
  sums: Report;
  campaigns: Report;
  days: Report;
}

async function readReports({ query }: Period, signal: AbortSignal): Promise<Reports> {
  const report = (group_by: string) => get<Report>('/public/v2/reports/campaigns', { ...query, group_by }, signal);
  const [sums, campaigns, days] = await Promise.all([report('client'), report('campaign'), report('day')]);
  return { sums, campaigns, days };
}

const Start = later(() => import('../more').then((all) => all.Start), true);

export function Overview() {
  const mayBegin = isAdmin.value && seesEveryClient.value && areClientsKnown.value;
  const isEmpty = mayBegin && !clients.value.length;
  const isUndecided = mayBegin && !isEmpty && !firstSteps.value;
  const { data, error } = useGet<Schemas['ClientReceipts']>(RECEIVED, {}, { enabled: isUndecided });
  const received = data?.data;
  const begins = isEmpty || received?.length === 0;
  useEffect(() => {
    if (!firstSteps.value && (isEmpty || received)) setFirstSteps(begins ? 'shown' : 'hidden');
  }, [isEmpty, received]);
  if (isEmpty) return <Nothing />;
  const steps = mayBegin && (isUndecided ? begins : firstSteps.value === 'shown') && <Start />;
  const isHeld = (isUndecided && !received && !error) || (steps && !areStepsReady.value);
  return showsAll.value ? <AllClients steps={steps} isHeld={isHeld} /> : <OneClient steps={steps} isHeld={isHeld} />;
}

/** Before the first client there is nothing to count. */
function Nothing() {
  useTitle('Overview');
  return (
    <main id="main" class="screen">
      <header class="screen-head">
        <h1>Overview</h1>
      </header>
      <Start />
    </main>
  );
}

/** The parts come one by one, as reports over millions of events take longer; each has its room from the beginning. */
function OneClient({ steps, isHeld }: { steps: ComponentChildren; isHeld: boolean }) {
  const period = periodOf();
  const attention = useAttention(client.value || session.value?.client_id || '');
  const reports = useRead(`/public/v2/reports/campaigns of all kinds ${JSON.stringify(period.query)}`, (signal) => readReports(period, signal));
  const statuses = useGet<Page<Status>>('/public/v2/statuses/contacts', { limit: '200' });
  const all = [attention, reports, statuses];
  useTitle('Overview', attention.data?.data.length);
  const id = client.value || session.value?.client_id || '';
  const name = clients.value.find((each) => each.client_id === id)?.name || id;
  return (
    <main id="main" class="screen overview">
      <header class="screen-head">
        <h1>{name || 'Overview'}</h1>
        <span class="push" />
        <Periods />
      </header>
      {steps}
      {all.map((each) => each.error && !(each === attention && each.error.status === 404) && <ProblemNote key={each.error.message} problem={each.error} retry={() => void each.refetch()} />)}
      {isHeld || (!attention.data && !attention.error) ? (
        <Skeleton lines={12} wide={100} />
      ) : (
        <>
          <Attention page={attention.data} of={id} isAll={false} />
          <Work of={id} />
          <Figures rows={reports.error ? [] : reports.data?.sums.data} before={reports.data?.sums.previous?.data} />
          <Days
            rows={reports.data?.days.data ?? []}
            before={reports.data?.days.previous?.data}
            period={period}
            link={(people, at) => go('/contacts', counted(people, iso(at), iso(midnight(at, 1))))}
          />
          <CallFigures since={iso(period.first)} />
          <OverTime period={period} />
          <div class="pairs">
            {reports.data ? <Campaigns report={reports.data.campaigns} /> : reports.isFetching && <Skeleton lines={6} wide={100} />}
            {statuses.data ? <Statuses statuses={statuses.data.data} /> : statuses.isFetching && <Skeleton lines={6} wide={100} />}
            <Funnel period={period} />
          </div>
        </>
      )}
    </main>
  );
}

function Campaigns({ report }: { report: Report }) {
  const sorted = [...report.data].sort((a, b) => b.mailed - a.mailed);
  const list = (people: string, each: Row) => href('/contacts', counted(people, each.begins_at, each.ends_at, { tool: each.tool ?? '', campaign: each.campaign_id ?? each.campaign ?? null }));
  return (
    <section aria-labelledby="campaigns">
      <h2 id="campaigns">
        <a href={href('/reports', periodQuery())}>Campaigns</a>
      </h2>
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
                    {each.campaign ?? each.campaign_id ?? 'No campaign named'} <span class="faint">{toolName(each.tool ?? null)}</span>
                  </th>
                  <td class="number"><a href={list('mailed', each)}>{count(each.mailed)}</a></td>
                  <td class="number"><a href={list('mailed_replied', each)}>{count(each.mailed_replied)}</a></td>
                  <td class="number">{percent(each.reply_rate)}</td>
                  <td class="number"><a href={list('bounced', each)}>{count(each.bounced)}</a></td>
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
