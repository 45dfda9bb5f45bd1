/** The audit log: who did what to people, keys, clients, settings and exported data. */
import { useState } from 'preact/hooks';
import { send } from '../api';
import { save } from '../csv';
import { useGet, usePages } from '../data';
import { nobody, VIA } from '../record/source';
import { go, href, place } from '../route';
import { choosesClient, clients, isAdmin } from '../session';
import { SettingsTabs } from '../settings/tabs';
import { useTitle } from '../title';
import type { Schemas } from '../types';
import { Button, Empty, LoadProblem, Skeleton, Time } from '../ui/basic';
import { toastProblem } from '../ui/toast';
import { words } from '../words';

type Act = Schemas['AuditEventOut'];
type User = Schemas['UserOut'];

const PATH = '/team/v1/audit-events';
const KINDS: readonly (readonly [string, string])[] = [
  ['session', 'Sign-ins'], ['user', 'People'], ['invitation', 'Revoked invitations'], ['key', 'Keys'], ['client', 'Clients'],
  ['settings', 'Settings'], ['connection', 'Connections'], ['endpoint', 'Endpoints'], ['status', 'Statuses'], ['custom_field', 'Fields'],
  ['export', 'Exports'], ['import', 'Imports'], ['body', 'Bodies read'], ['record', 'Merges'], ['bulk', 'Bulk changes'],
  ['block', 'Blocks taken back'], ['suppression', 'Removed from do not contact'], ['person', 'Erasures'],
];

/** The beginning of a day in the browser's zone, and of the one after it. */
function dayAfter(day: string, days: number): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date + days).toISOString();
}

export function AuditLog() {
  const of = place.value.query;
  const chosen = { actor: of.get('actor') ?? '', kind: of.get('kind') ?? '', of: of.get('of') ?? '', from: of.get('from') ?? '', to: of.get('to') ?? '' };
  const query: Record<string, string> = {
    ...(chosen.actor && { actor_id: chosen.actor }),
    ...(chosen.kind && { action: `${chosen.kind}.*` }),
    ...(chosen.of && { client_id: chosen.of }),
    ...(chosen.from && { since: dayAfter(chosen.from, 0) }),
    ...(chosen.to && { until: dayAfter(chosen.to, 1) }),
  };
  const loaded = usePages<Act>(PATH, { limit: '100', ...query });
  const people = useGet<{ data: User[] }>('/team/v1/users', { limit: '200' });
  const [busy, setBusy] = useState(false);
  useTitle('Audit log');
  if (!isAdmin.value) {
    return (
      <main id="main" class="screen">
        <Empty icon="book" whole title="The audit log is for administrators">
          <p>Ask an administrator what you want to know.</p>
        </Empty>
      </main>
    );
  }
  const filter = (changes: Partial<typeof chosen>) => go('/audit', Object.entries({ ...chosen, ...changes }), true);
  async function fetchFile() {
    setBusy(true);
    try {
      save('audit-log.csv', await (await send('GET', `${PATH}/export`, { query: { ...query, format: 'csv' } })).blob());
      loaded.refetch();
    } catch (error) {
      toastProblem(error);
    }
    setBusy(false);
  }
  const shown = loaded.data;
  return (
    <main id="main" class="screen clients settings">
      <header class="screen-head">
        <h1>Audit log</h1>
        <span class="push" />
        <Button icon="download" busy={busy} onClick={() => void fetchFile()}>
          Export
        </Button>
      </header>
      <SettingsTabs />
      <div class="filters audit">
        <Choice label="Person" value={chosen.actor} all="Everybody" options={(people.data?.data ?? []).map((each) => [each.id, each.name || each.email] as const)} pick={(actor) => filter({ actor })} />
        <Choice label="What" value={chosen.kind} all="All acts" options={KINDS} pick={(kind) => filter({ kind })} />
        {choosesClient.value && clients.value.length > 0 && (
          <Choice label="Client" value={chosen.of} all="All clients" options={clients.value.map((each) => [each.client_id, each.name || each.client_id] as const)} pick={(id) => filter({ of: id })} />
        )}
        <Day label="From" value={chosen.from} pick={(from) => filter({ from })} />
        <Day label="To" value={chosen.to} pick={(to) => filter({ to })} />
      </div>
      <LoadProblem of={loaded} />
      {!shown && !loaded.error && <Skeleton lines={8} wide={100} />}
      {shown?.length === 0 && (
        <Empty icon="book" title={Object.keys(query).length ? 'No act matches' : 'Nothing is recorded yet'}>
          <p>Sign-ins, changes of people, keys, clients and settings, exports, and bodies that somebody read are recorded.</p>
        </Empty>
      )}
      {shown && shown.length > 0 && (
        <ul class="lines" aria-label="Acts">
          {shown.map((each) => (
            <li key={each.id} class="line-of">
              <Line of={each} />
            </li>
          ))}
        </ul>
      )}
      {loaded.hasMore && <Button onClick={loaded.more}>Show more</Button>}
    </main>
  );
}

function Choice({ label, value, all, options, pick }: { label: string; value: string; all: string; options: readonly (readonly [string, string])[]; pick: (value: string) => void }) {
  return (
    <label>
      <span class="hidden">{label}</span>
      <select value={value} onChange={(event) => pick(event.currentTarget.value)}>
        <option value="">{all}</option>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Day({ label, value, pick }: { label: string; value: string; pick: (value: string) => void }) {
  return (
    <label class="day">
      <span>{label}</span>
      <input type="date" value={value} onChange={(event) => pick(event.currentTarget.value)} />
    </label>
  );
}

function Line({ of }: { of: Act }) {
  const { actor, target } = of;
  const about = target && [words(target.type), target.name || (target.type === 'session' ? target.id.slice(0, 8) : target.id)].join(' ');
  const client = of.client_id && (clients.value.find((each) => each.client_id === of.client_id)?.name || of.client_id);
  return (
    <>
      <div class="what">
        <b>
          {of.change_id && of.client_id ? (
            <a href={href('/history', { change: of.change_id }, of.client_id)} aria-label={`${words(of.action)}: show change`}>
              {words(of.action)}
            </a>
          ) : (
            words(of.action)
          )}
        </b>
        <span class="faint cut" dir="auto" title={target?.id}>
          {[about, client].filter(Boolean).join(' · ')}
        </span>
      </div>
      <div class="what">
        <span dir="auto">{actor.name || (actor.type === 'anyone' ? nobody() : actor.type === 'touchbase' ? 'Touchbase' : actor.id)}</span>
        <span class="faint">{[actor.type === 'touchbase' ? 'by itself' : `by ${VIA[actor.via] ?? actor.via}`, of.address].filter(Boolean).join(', ')}</span>
      </div>
      <div class="tools">
        <Time at={of.at} />
      </div>
    </>
  );
}
