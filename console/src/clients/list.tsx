/** All clients that the key may see. */
import { useEffect, useState } from 'preact/hooks';
import { asProblem, call as send, get, type Problem } from '../api';
import { useLoad, useRested } from '../load';
import { go, href, place } from '../route';
import { choosesClient, isAdmin, refreshClients, session } from '../session';
import type { ListedDelivery, Page } from '../types';
import { Button, Empty, ProblemNote, Skeleton, StatusMark, Time } from '../ui/basic';
import { Confirm, Field } from '../ui/confirm';
import { plural } from '../words';
import { Cells } from './cells';
import { callsOf, connectionsOf } from './requests';
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
  const [more, setMore] = useState<{ key: string; data: ClientDetail[]; next: string | null }>();
  const [problem, setProblem] = useState<Problem | null>(null);
  const key = `clients ${name} ${state}`;
  const query = { limit: LIMIT, ...(name && { name }), ...(state && { state }) };
  const loaded = useLoad(key, (signal) => get<Page<ClientDetail>>('/admin/v1/clients', query, signal));
  useEffect(() => {
    document.title = 'Clients · Touchbase';
  }, []);
  if (!isAdmin.value) return <NeedsAdmin />;
  const shown = more?.key === key ? more : loaded.value && { data: loaded.value.data, next: loaded.value.next_cursor };

  async function next() {
    if (!shown?.next) return;
    try {
      const page = await get<Page<ClientDetail>>('/admin/v1/clients', { ...query, cursor: shown.next });
      setMore({ key, data: [...shown.data, ...page.data], next: page.next_cursor });
    } catch (error) {
      setProblem(asProblem(error));
    }
  }

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
      {loaded.problem && <ProblemNote problem={loaded.problem} retry={loaded.reload} />}
      {problem && <ProblemNote problem={problem} retry={() => void next()} />}
      {!shown && !loaded.problem && <Skeleton lines={8} wide={100} />}
      {shown && shown.data.length === 0 && <None filtered={name !== '' || state !== ''} />}
      {shown && shown.data.length > 0 && (
        <ul class="lines" aria-label="Clients">
          {shown.data.map((each) => (
            <li key={each.client_id}>
              <Row of={each} />
            </li>
          ))}
        </ul>
      )}
      {shown?.next && <Button onClick={() => void next()}>Show more</Button>}
      <Cells />
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
      <p>A client is an organisation with its own records, tools and keys. {session.value?.keys_needed ? 'Make the first one.' : 'Without keys, “default” comes into being with its first call.'}</p>
      {!session.value?.keys_needed && (
        <a class="button" href={href('/clients/default')}>
          Show the addresses of “default”
        </a>
      )}
    </Empty>
  );
}

function Row({ of }: { of: ClientDetail }) {
  const loaded = useLoad(`row ${of.client_id}`, async (signal) => {
    const [connections, calls] = await Promise.all([connectionsOf(of.client_id, signal), callsOf(of.client_id, { limit: '1' }, signal)]);
    return { connections, last: calls[0] as ListedDelivery | undefined };
  });
  const silent = loaded.value?.connections.some((each) => each.calls?.silent_since_time);
  const last = loaded.value?.last;
  return (
    <a class="line-of client-line" href={href(`/clients/${of.client_id}`)}>
      <span class="what">
        <b class="cut">{of.name || of.client_id}</b>
        <span class="faint cut">{of.name ? of.client_id : 'No name'}</span>
      </span>
      <StatusMark status={of.state} />
      <span class="faint">{loaded.value ? plural(loaded.value.connections.length, 'connection') : '\u00a0'}</span>
      <span class="last">
        {silent && (
          <>
            <StatusMark status="silent" />{" "}
          </>
        )}
        {last && (
          <>
            Last call <Time at={last.received_at} as="ago" /> <span class="faint">{nameOf(last.channel, last.tool)}</span>
          </>
        )}
        {loaded.value && !last && <span class="faint">No call yet</span>}
        {!loaded.value && '\u00a0'}
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
    await refreshClients();
    go(`/clients/${made.client_id}`);
  }
  return (
    <Confirm title="New client" action="Make the client" onClose={onClose} run={run}>
      <Field label="Name" help="For people.">
        <input type="text" autofocus value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <Field label="Id" help="It ends the webhook addresses, so it should not be guessable. Empty: one is generated.">
        <input type="text" spellcheck={false} autocomplete="off" value={id} onInput={(event) => setId(event.currentTarget.value)} />
      </Field>
    </Confirm>
  );
}
