/** All clients that the key may see. */
import { useEffect, useState } from 'preact/hooks';
import { useAct } from '../acts';
import { call as send } from '../api';
import { usePages, useRead, useRested } from '../data';
import { chooseClient, go, href, place } from '../route';
import { choosesClient, clients, isAdmin, refreshClients, session } from '../session';
import { useTitle } from '../title';
import type { ListedDelivery } from '../types';
import { Button, Empty, LoadProblem, Skeleton, Time } from '../ui/basic';
import { Confirm, Field } from '../ui/confirm';
import { StatusMark } from '../ui/status';
import { plural } from '../words';
import { Databases } from './databases';
import { callsOf, clientPath, connectionsOf } from './requests';
import { nameOf } from './tools';
import type { ClientDetail } from './types';

const LIMIT = '25';
const STATES: readonly (readonly [string, string])[] = [
  ['', 'All clients'],
  ['active', 'Active'],
  ['suspended', 'Suspended'],
  ['deleting', 'Being deleted'],
];

export function Clients() {
  const name = place.value.query.get('name') ?? '';
  const state = place.value.query.get('state') ?? '';
  const [adds, setAdds] = useState(false);
  useAct(() => setAdds(choosesClient.value));
  const loaded = usePages<ClientDetail>('/admin/v1/clients', { limit: LIMIT, ...(name && { name }), ...(state && { state }) });
  useTitle('Clients');
  if (!isAdmin.value) return <NeedsAdmin />;
  const shown = loaded.data;
  return (
    <main id="main" class="screen clients">
      <header class="screen-head">
        <h1>Clients</h1>
        <span class="push" />
        {choosesClient.value && (
          <Button kind="main" icon="plus" onClick={() => setAdds(true)}>
            New client
          </Button>
        )}
      </header>
      <div class="filters">
        <SearchName text={name} state={state} />
        <label>
          <span class="hidden">State</span>
          <select value={state} onChange={(event) => go('/clients', { name, state: event.currentTarget.value }, true)}>
            {STATES.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
      </div>
      <LoadProblem of={loaded} />
      {!shown && !loaded.error && <Skeleton lines={8} wide={100} />}
      {shown && shown.length === 0 && <None filtered={name !== '' || state !== ''} />}
      {shown && shown.length > 0 && (
        <ul class="lines" aria-label="Clients">
          {shown.map((each) => (
            <li key={each.client_id}>
              <Row of={each} />
            </li>
          ))}
        </ul>
      )}
      {loaded.hasMore && <Button onClick={loaded.more}>Show more</Button>}
      <Databases />
      {adds && <NewClient onClose={() => setAdds(false)} />}
    </main>
  );
}

export function NeedsAdmin() {
  return (
    <main id="main" class="screen">
      <Empty icon="company" whole title="This needs an administrator’s key">
        <p>Ask an administrator of this installation for a key with the scope “admin”, and sign in with it.</p>
      </Empty>
    </main>
  );
}

function None({ filtered }: { filtered: boolean }) {
  if (filtered) {
    return (
      <Empty icon="search" title="No client like this">
        <a class="button" href={href('/clients')}>
          Show all clients
        </a>
      </Empty>
    );
  }
  return (
    <Empty icon="company" title="No client yet">
      <p>A client is an organisation with its own records, tools and keys. {session.value?.keys_needed ? 'Make the first one.' : 'Without keys, “default” comes into being with its first webhook.'}</p>
      {!session.value?.keys_needed && (
        <a class="button" href={href('/clients/default')}>
          Show the addresses of “default”
        </a>
      )}
    </Empty>
  );
}

function Row({ of }: { of: ClientDetail }) {
  const loaded = useRead(`${clientPath(of.client_id)} row`, async (signal) => {
    const [connections, calls] = await Promise.all([connectionsOf(of.client_id, signal), callsOf(of.client_id, { limit: '1' }, signal)]);
    return { connections, last: calls[0] as ListedDelivery | undefined };
  });
  const silent = loaded.data?.connections.some((each) => each.calls?.silent_since_time);
  const last = loaded.data?.last;
  return (
    <a class="line-of client-line" href={href(`/clients/${of.client_id}`)}>
      <span class="what">
        <b class="cut">{of.name || of.client_id}</b>
        <span class="faint cut">{of.name ? of.client_id : 'No name'}</span>
      </span>
      <StatusMark status={of.state} />
      <span class="faint">{loaded.data ? plural(loaded.data.connections.length, 'connection') : '\u00a0'}</span>
      <span class="last">
        {silent && (
          <>
            <StatusMark status="silent" />{" "}
          </>
        )}
        {last && (
          <>
            Last webhook <Time at={last.received_at} as="ago" /> <span class="faint">{nameOf(last.channel, last.tool)}</span>
          </>
        )}
        {loaded.data && !last && <span class="faint">No webhook yet</span>}
        {!loaded.data && '\u00a0'}
      </span>
    </a>
  );
}

function SearchName({ text, state }: { text: string; state: string }) {
  const [value, setValue] = useState(text);
  const rested = useRested(value.trim(), 250);
  useEffect(() => {
    if (rested !== (place.value.query.get('name') ?? '')) go('/clients', { name: rested, state }, true);
  }, [rested]);
  return <input type="search" aria-label="Part of a name or id" placeholder="Part of a name or id" value={value} onInput={(event) => setValue(event.currentTarget.value)} />;
}

function NewClient({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [id, setId] = useState('');
  async function run() {
    const made = (await send<ClientDetail>('POST', '/admin/v1/clients', { body: { name, ...(id.trim() && { client_id: id.trim() }) } })).data;
    const isFirst = !clients.value.length;
    await refreshClients();
    const path = `/clients/${made.client_id}`;
    if (isFirst) chooseClient(made.client_id, path); // until now the scope was a client that does not exist
    else go(path);
  }
  return (
    <Confirm title="New client" action="Create client" onClose={onClose} run={run}>
      <Field label="Name" help="For people.">
        <input type="text" autofocus value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <Field label="Id" help="It ends the webhook addresses, so it should not be guessable. Empty: one is generated.">
        <input type="text" spellcheck={false} autocomplete="off" value={id} onInput={(event) => setId(event.currentTarget.value)} />
      </Field>
    </Confirm>
  );
}
