/** One client: its addresses, its connections, and what can be done with it. */
import { get, Problem } from '../api';
import { useRead } from '../data';
import { href } from '../route';
import { isAdmin, session } from '../session';
import { useTitle } from '../title';
import { Icon, LoadProblem, Skeleton } from '../ui/basic';
import { StatusMark } from '../ui/status';
import { count, longTime } from '../words';
import { Addresses } from './addresses';
import { Connections } from './connections';
import { IgnoredWebhooks } from './ignored';
import { Manage } from './life';
import { NeedsAdmin } from './list';
import { clientPath, connectionsOf } from './requests';
import type { ClientDetail, Connection } from './types';

interface Found {
  /** Null: it comes into being with its first call, as in open mode. */
  client: ClientDetail | null;
  connections: Connection[];
}

async function read(id: string, signal: AbortSignal): Promise<Found> {
  try {
    const [client, connections] = await Promise.all([get<ClientDetail>(clientPath(id), {}, signal), connectionsOf(id, signal)]);
    return { client, connections };
  } catch (error) {
    if (error instanceof Problem && error.status === 404 && !session.value?.keys_needed && /^[\w.~-]{1,100}$/.test(id)) return { client: null, connections: [] };
    throw error;
  }
}

export function ClientScreen({ id }: { id: string }) {
  const loaded = useRead(`${clientPath(id)} page`, (signal) => read(id, signal), { refetchInterval: (of) => (of.state.data?.client?.state === 'deleting' ? 2000 : false) });
  const found = loaded.data;
  const name = found?.client?.name || id;
  const isDeleting = found?.client?.state === 'deleting';
  useTitle(name);
  if (!isAdmin.value) return <NeedsAdmin />;
  return (
    <main id="main" class="screen clients">
      <a class="back" href={href('/clients')}>
        <Icon name="left" /> Clients
      </a>
      <header class="screen-head">
        <div class="who">
          <h1>{name}</h1>
          <p class="faint">
            {id}
            {found?.client && `, since ${longTime(found.client.created_time)}`}
          </p>
        </div>
        {found?.client && <StatusMark status={found.client.state} />}
        <span class="push" />
        {found?.client && !isDeleting && (
          <a class="button" href={href('/settings', { of: id })}>
            Settings
          </a>
        )}
        {found?.client && <Manage of={found.client} reload={() => void loaded.refetch()} />}
      </header>
      <LoadProblem of={loaded} />
      {!found && !loaded.error && <Skeleton lines={10} wide={100} />}
      {found?.client && <States of={found.client} />}
      {found && !isDeleting && (
        <>
          <Addresses id={id} connections={found.connections} />
          {found.client && <Connections id={id} connections={found.connections} reload={() => void loaded.refetch()} canAdd />}
          {found.client && <IgnoredWebhooks id={id} />}
        </>
      )}
    </main>
  );
}

function States({ of }: { of: ClientDetail }) {
  const gone = of.deletion;
  return (
    <>
      {of.state === 'suspended' && <p class="meaning warn">It is suspended: requests about its records get 403. Its webhooks are stored, and applied when it is resumed.</p>}
      {of.state === 'deleting' && (
        <p class="meaning warn" role="status">
          It is being deleted{gone && `: ${count(gone.removed_rows)}${gone.total_rows === null ? '' : ` of ${count(gone.total_rows)}`} rows are removed`}. This page shows the progress.
        </p>
      )}
      {of.former_ids.map((each) => (
        <p key={each.client_id} class="meaning">
          Its former id {each.client_id} is valid until {longTime(each.valid_until)}.
        </p>
      ))}
    </>
  );
}
