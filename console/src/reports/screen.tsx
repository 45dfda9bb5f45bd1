/** Reports: mails and what came of them by client, campaign, step, label or day; each number opens its contacts. */
import { useState } from 'preact/hooks';
import { get } from '../api';
import { cell, save } from '../csv';
import { useRead } from '../data';
import { client, go, href, place } from '../route';
import { clients, isAdmin, session, showsAll } from '../session';
import { useTitle } from '../title';
import { Button, Empty, Icon, LoadProblem, Skeleton } from '../ui/basic';
import { count, day, percent, toolName, words } from '../words';
import { reportOfAll, type AllRows } from '../overview/all';
import { Days } from '../overview/days';
import { Before, Figures, type Report, type Row } from '../overview/figures';
import { Share } from './share';
import { counted, DAY, iso, midnight, periodOf, Periods, periodQuery, type Period } from '../overview/period';

const GROUPS = [['client', 'Client'], ['campaign', 'Campaign'], ['step', 'Step'], ['label', 'Label'], ['day', 'Day']] as const;
type Group = (typeof GROUPS)[number][0];
const COLUMNS = [['mailed', 'Emailed'], ['replied', 'Replied'], ['mailed_replied', 'Answered'], ['bounced', 'Bounced'], ['unsubscribed', 'Unsubscribed']] as const;
type Column = (typeof COLUMNS)[number][0];

async function read(group: Group, period: Period, signal: AbortSignal): Promise<AllRows> {
  if (showsAll.value) return reportOfAll(period, group, signal);
  const report = await get<Report>('/public/v2/reports/campaigns', { ...period.query, group_by: group }, signal);
  return { rows: report.data, before: report.previous?.data };
}

/** What a row has in common with its row of the period before; `first`: when its period began. */
function keyOf(group: Group, row: Row, first: number): string {
  const number = group === 'day' ? Math.round((Date.parse(row.begins_at) - first) / DAY) : '';
  return JSON.stringify([row.client_id, row.tool, row.campaign_id ?? row.campaign, row.step, row.label, number]);
}

function groupsOf(group: Group, row: Row): Record<string, string | null> {
  if (group === 'campaign') return { tool: row.tool ?? '', campaign: row.campaign_id ?? row.campaign ?? null };
  return group === 'step' ? { step: row.step ?? null } : group === 'label' ? { label: row.label ?? null } : {};
}

function nameOf(group: Group, row: Row): string {
  if (group === 'campaign') return row.campaign ?? row.campaign_id ?? 'No campaign named';
  if (group === 'step') return row.step === null ? 'Step not known' : `Step ${row.step}`;
  if (group === 'label') return row.label ? words(row.label) : 'No label';
  return group === 'day' ? day(new Date(row.begins_at)) : 'All';
}

export function Reports() {
  const period = periodOf();
  const all = showsAll.value;
  const groups = GROUPS.filter(([key]) => key !== 'client' || all);
  const group = groups.find(([key]) => key === place.value.query.get('by'))?.[0] ?? (all ? 'client' : 'campaign');
  const loaded = useRead(`/reports by ${group} ${JSON.stringify(period.query)}`, (signal) => read(group, period, signal));
  useTitle('Reports');
  const show = (change: Record<string, string>) => go('/reports', { ...Object.fromEntries(place.value.query), ...change }, true);
  const [isSharing, setSharing] = useState(false);
  const found = loaded.data;
  return (
    <main id="main" class="screen overview reports">
      <header class="screen-head">
        <h1>Reports</h1>
        <span class="push" />
        <Periods path="/reports" />
        <Button icon="download" disabled={!found?.rows.length} onClick={() => found && save(`report-by-${group}.csv`, csvOf(found))}>
          CSV
        </Button>
        {!all && isAdmin.value && (
          <Button icon="link" onClick={() => setSharing(true)}>
            Share
          </Button>
        )}
      </header>
      {isSharing && <Share of={client.value || session.value?.client_id || ''} period={period.days} onClose={() => setSharing(false)} />}
      <div class="switch" role="group" aria-label="By">
        {groups.map(([key, text]) => (
          <button key={key} type="button" aria-pressed={key === group} onClick={() => show({ by: key, sort: '' })}>
            {text}
          </button>
        ))}
      </div>
      <LoadProblem of={loaded} />
      {!found && !loaded.error && <Skeleton lines={12} wide={100} />}
      {found && group === 'client' && <Figures rows={found.rows} before={found.before} />}
      {found && group === 'day' && (
        <Days
          rows={found.rows}
          before={found.before}
          period={period}
          link={(people, at) => (all ? go('/reports', { ...periodQuery(), by: 'client', day: iso(at) }) : go('/contacts', counted(people, iso(at), iso(midnight(at, 1)))))}
        />
      )}
      {found && <Table group={group} found={found} period={period} show={show} />}
    </main>
  );
}

interface TableProps {
  group: Group;
  found: AllRows;
  period: Period;
  show: (change: Record<string, string>) => void;
}

function Table({ group, found, period, show }: TableProps) {
  const all = showsAll.value;
  const columns = COLUMNS.filter(([key]) => group !== 'label' || key === 'replied');
  const by = columns.find(([key]) => key === place.value.query.get('sort'))?.[0] ?? (group === 'day' || group === 'step' ? '' : columns[0]?.[0] ?? '');
  const rows = group === 'day' && all ? daysOf(found.rows) : found.rows;
  const earlier = found.before && (group === 'day' && all ? daysOf(found.before) : found.before);
  const before = new Map(earlier?.map((each) => [keyOf(group, each, midnight(period.first, -period.days)), each]));
  const sorted = by ? [...rows].sort((a, b) => b[by] - a[by]) : rows;
  const named = new Map(clients.value.map((each) => [each.client_id, each.name]));
  const of = (row: Row) => row.client_id ?? (client.value || session.value?.client_id || '');
  const list = (people: Column, row: Row) =>
    group === 'day' && all ? href('/reports', { ...periodQuery(), by: 'client', day: row.begins_at }) : href('/contacts', counted(people, row.begins_at, row.ends_at, groupsOf(group, row)), of(row));
  if (!rows.length) {
    return (
      <Empty icon="mail" title={group === 'label' ? 'No replies in this time' : 'No emails in this time'}>
        <p>As soon as a campaign tool reports its emails, they are counted here.</p>
      </Empty>
    );
  }
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Numbers by ${group}`}>
      <table class="table">
        <thead>
          <tr>
            {all && group !== 'day' && <th scope="col">Client</th>}
            {group !== 'client' && <th scope="col">{words(group)}</th>}
            {columns.map(([key, name]) => (
              <th key={key} scope="col" class="number" aria-sort={key === by ? 'descending' : undefined}>
                <button type="button" class="sorts" onClick={() => show({ sort: key })}>
                  {name}
                  {key === by && <Icon name="down" />}
                </button>
              </th>
            ))}
            {group !== 'label' && <th scope="col" class="number">Reply rate</th>}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => {
            const old = before.get(keyOf(group, row, period.first));
            return (
              <tr key={keyOf(group, row, period.first)}>
                {all && group !== 'day' && (
                  <th scope="row">
                    <a href={href('/reports', periodQuery(), row.client_id)}>{named.get(row.client_id ?? '') || row.client_id}</a>
                  </th>
                )}
                {group !== 'client' && (
                  <th scope="row">
                    {nameOf(group, row)} {row.tool && <span class="faint">{toolName(row.tool)}</span>}
                  </th>
                )}
                {columns.map(([key]) => (
                  <td key={key} class="number">
                    {row[key] ? <a href={list(key, row)}>{count(row[key])}</a> : 0} <Before value={earlier && count(old?.[key] ?? 0)} />
                  </td>
                ))}
                {group !== 'label' && (
                  <td class="number">
                    {percent(row.reply_rate)} <Before value={earlier && percent(old?.reply_rate ?? null)} />
                  </td>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** The days of all clients together. */
function daysOf(rows: readonly Row[]): Row[] {
  const days = new Map<string, Row>();
  for (const { client_id: _, ...row } of rows) {
    const sum = days.get(row.begins_at);
    if (!sum) {
      days.set(row.begins_at, { ...row });
      continue;
    }
    for (const [key] of COLUMNS) sum[key] += row[key];
    sum.reply_rate = sum.mailed ? sum.mailed_replied / sum.mailed : null;
  }
  return [...days.values()].sort((a, b) => (a.begins_at < b.begins_at ? -1 : 1));
}

/** All rows as a file, those of the period before first. */
function csvOf({ rows, before = [] }: AllRows): string {
  const named = new Map(clients.value.map((each) => [each.client_id, each.name]));
  const numbers = ['mailed', 'mails', 'replied', 'replies', 'mailed_replied', 'reply_rate', 'bounced', 'unsubscribed', 'complained'] as const;
  const of = (row: Row) => [row.client_id && (named.get(row.client_id) || row.client_id), row.begins_at, row.ends_at, row.tool, row.campaign, row.campaign_id, row.step, row.label];
  const head = ['client', 'begins_at', 'ends_at', 'tool', 'campaign', 'campaign_id', 'step', 'label', ...numbers];
  const lines = [...before, ...rows].map((row) => [...of(row), ...numbers.map((key) => row[key])].map((value) => cell(`${value ?? ''}`)).join());
  return `${[head.join(), ...lines].join('\r\n')}\r\n`;
}
