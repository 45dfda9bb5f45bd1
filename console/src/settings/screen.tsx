/** The settings of one client: general, its statuses, its custom fields. */
import { get } from '../api';
import { clientPath } from '../clients/requests';
import type { ClientDetail } from '../clients/types';
import { useRead } from '../data';
import { client as chosen, href, place } from '../route';
import { canWrite, choosesClient, clients, isAdmin, seesEveryClient, session, showsAll } from '../session';
import { ChooseClient } from '../shell';
import { useTitle } from '../title';
import { Empty, LoadProblem, Skeleton } from '../ui/basic';
import { SettingsForm } from './client-settings';
import { Fields } from './fields';
import { Snippets, useSnippets } from './snippets';
import { SignInWays } from './sign-in';
import { Statuses, useStatusesOf } from './statuses';
import { SettingsTabs, tabOfSettings } from './tabs';
import { TeamStatuses, useTeamStatuses } from './team-statuses';
import type { Kind } from './types';

export function Settings() {
  const tab = tabOfSettings();
  const id = place.value.query.get('of') ?? (chosen.value || session.value?.client_id || '');
  const loaded = useRead(`${clientPath(id)} settings`, (signal) => (isAdmin.value && id ? get<ClientDetail>(clientPath(id), {}, signal) : Promise.resolve(null)));
  const client = loaded.data ?? null;
  const isMissing = loaded.error?.status === 404;
  const name = client?.name || clients.value.find((each) => each.client_id === id)?.name || id;
  useTitle(tab === 'sign-in' ? 'Sign-in' : 'Settings');
  if (tab === 'sign-in' && isAdmin.value && seesEveryClient.value) return <SignInWays />;
  if (showsAll.value && !place.value.query.has('of')) {
    return (
      <ChooseClient>{tab !== 'fields' && <OfTheTeam />}</ChooseClient>
    );
  }
  if (!id || isMissing) {
    return (
      <main id="main" class="screen settings">
        <SettingsTabs />
        <Empty icon="settings" whole title={id ? 'There is no such client yet' : 'Choose a client'}>
          <p>Settings belong to a client. Without keys, a client comes into being with its first webhook or request.</p>
          <a class="button" href={href('/clients')}>
            Show the clients
          </a>
        </Empty>
        {!id && <OfTheTeam />}
      </main>
    );
  }
  const declares = (kind: Kind) => client !== null && client.settings[kind === 'contacts' ? 'contact_statuses' : 'company_statuses'] !== null;
  return (
    <main id="main" class="screen clients settings">
      <header class="screen-head">
        <div class="who">
          <h1>Settings</h1>
          <p class="faint">
            of {name}
            {isAdmin.value ? '' : ': an administrator’s key shows all of them'}
          </p>
        </div>
      </header>
      <SettingsTabs />
      <LoadProblem of={loaded} />
      {loaded.isFetching && !loaded.data && isAdmin.value && <Skeleton lines={14} wide={100} />}
      {tab === '' && client && <SettingsForm key={client.client_id} client={client} onSaved={loaded.refetch} />}
      {tab === 'statuses' && (client || !isAdmin.value) && <Statuses client={id} declares={declares} onChange={loaded.refetch} />}
      {tab === 'statuses' && <OfTheTeam below={id} />}
      {tab === 'fields' && (client || !isAdmin.value) && <Fields client={id} />}
    </main>
  );
}

/** What is the same for all clients, once the lists above each part are there and move it no more. */
function OfTheTeam({ below = '' }: { below?: string }) {
  const lists = [useStatusesOf(below, 'contacts'), useTeamStatuses(), useSnippets()];
  const areLoaded = lists.every(({ data, error }, index) => data || error || (index === 0 && below === ''));
  if (!choosesClient.value || !areLoaded) return null;
  return (
    <>
      {isAdmin.value && <TeamStatuses />}
      {canWrite.value && <Snippets />}
    </>
  );
}
