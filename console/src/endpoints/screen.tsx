/** Endpoints: where the client's events are sent, and how that goes. */
import { useShortcuts } from '../keys';
import { useGet } from '../data';
import { client, go, href, place } from '../route';
import { clients, isAdmin, showsAll } from '../session';
import { useTitle } from '../title';
import type { Page } from '../types';
import { Empty, Icon, LoadProblem, Skeleton, Time } from '../ui/basic';
import { count } from '../words';
import { NewEndpoint } from './new';
import { OneEndpoint } from './one';
import { EndpointIcon, EndpointState, nameOf } from './shown';
import { KIND_NAMES, OF_ALL, SHARED, type Endpoint } from './types';

export function Endpoints({ endpoint }: { endpoint: string }) {
  if (!isAdmin.value) {
    return (
      <main id="main" class="screen fixed">
        <Empty icon="outgoing" whole title="Endpoints need an administrator’s key">
          <p>They decide where the client’s data is sent. Ask an administrator of this installation for a key with the scope “admin”, and sign in with it.</p>
        </Empty>
      </main>
    );
  }
  if (endpoint === 'new') return <NewEndpoint />;
  if (endpoint) return <OneEndpoint key={`${client.value} ${endpoint}`} id={endpoint} />;
  return <EndpointList />;
}

const FILTERS = ['kind', 'state', 'q'] as const;

function matches(one: Endpoint, query: URLSearchParams): boolean {
  const [kind, state, text] = FILTERS.map((name) => query.get(name) ?? '');
  const known = `${one.description} ${one.url} ${one.types.join(' ')}`.toLowerCase();
  return (!kind || one.kind === kind) && (!state || one.state === state) && known.includes((text ?? '').toLowerCase());
}

function EndpointList() {
  const loaded = useGet<Page<Endpoint>>(showsAll.value ? OF_ALL : '/public/v2/webhook-endpoints', { limit: showsAll.value ? '200' : '100' });
  useTitle('Endpoints');
  useShortcuts(() => [{ keys: 'n', does: 'Add an endpoint', group: 'Endpoints', run: () => go('/endpoints/new') }]);
  const all = loaded.data?.data;
  const query = place.value.query;
  const shown = all?.filter((each) => matches(each, query)) ?? [];
  return (
    <main id="main" class="screen outgoing">
      <header class="screen-head">
        <h1>Endpoints</h1>
        <span class="push" />
        <a class="button main" href={href('/endpoints/new')}>
          <Icon name="plus" /> Add an endpoint
        </a>
      </header>
      <LoadProblem of={loaded} />
      {!all && !loaded.error && <Skeleton lines={8} wide={90} />}
      {all && all.length > 0 && <Filters query={query} />}
      {all?.length === 0 && <NoEndpoint />}
      {all && all.length > 0 && shown.length === 0 && (
        <Empty icon="search" title="No endpoint like this">
          <a class="button" href={href('/endpoints')}>
            Show all endpoints
          </a>
        </Empty>
      )}
      <ul class="endpoints" aria-label="Endpoints">
        {shown.map((each) => (
          <Row key={each.id} one={each} />
        ))}
      </ul>
      {loaded.data?.next_cursor && <p class="faint">These are the first {count(all?.length ?? 0)}: choose a client to see the others.</p>}
    </main>
  );
}

function Filters({ query }: { query: URLSearchParams }) {
  const show = (name: string, value: string) =>
    go('/endpoints', Object.fromEntries([...FILTERS.map((each) => [each, query.get(each) ?? ''] as const), [name, value] as const]), true);
  return (
    <div class="outgoing-filter">
      <label>
        <span class="hidden">Kind</span>
        <select value={query.get('kind') ?? ''} onChange={(event) => show('kind', event.currentTarget.value)}>
          <option value="">All kinds</option>
          {Object.entries(KIND_NAMES).map(([kind, name]) => (
            <option key={kind} value={kind}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="hidden">State</span>
        <select value={query.get('state') ?? ''} onChange={(event) => show('state', event.currentTarget.value)}>
          <option value="">All states</option>
          {['active', 'paused', 'disabled'].map((state) => (
            <option key={state} value={state}>
              {state}
            </option>
          ))}
        </select>
      </label>
      <input type="search" aria-label="Search endpoints" placeholder="Description, address or type" value={query.get('q') ?? ''} onInput={(event) => show('q', event.currentTarget.value)} />
    </div>
  );
}

function Row({ one }: { one: Endpoint }) {
  const { copies } = one;
  const { waiting = 0, failed = copies?.failed ?? 0, failing_since_time: failing = null, last_delivered_time: last = null } = one.progress ?? {};
  return (
    <li>
      <a class="endpoint" href={one.clients === 'all' ? href(`/endpoints/${SHARED}${one.id}`) : href(`/endpoints/${one.id}`, {}, one.client_id ?? client.value)}>
        <EndpointIcon kind={one.kind} />
        <span class="what">
          <span class="strong cut" dir="auto">{nameOf(one)}</span>
          <span class="faint cut">
            {KIND_NAMES[one.kind]}
            {one.clients === 'all' || one.shared_id !== null ? ' · all clients' : ''}
            {showsAll.value && one.client_id !== null && ` · ${clients.value.find((each) => each.client_id === one.client_id)?.name || one.client_id}`} · {one.url}
          </span>
        </span>
        <span class="state">
          <EndpointState one={one} />
          <span class="faint">{copies ? `${count(copies.clients)} clients` : last ? <>last success <Time at={last} as="ago" /></> : 'nothing delivered yet'}</span>
        </span>
        <span class="counts">
          <span>{copies ? '' : waiting ? `${count(waiting)} waiting` : 'none waiting'}</span>
          <span class={failed ? 'wrong' : 'faint'}>{failed ? `${count(failed)} failed` : failing ? <>failing since <Time at={failing} as="ago" /></> : 'none failed'}</span>
        </span>
      </a>
    </li>
  );
}

function NoEndpoint() {
  return (
    <Empty icon="outgoing" title="Nothing is sent anywhere yet">
      <p>An endpoint gets the client’s events as they happen: replies in a Slack channel, statuses in your CRM, everything in a program of yours. Nothing is lost while a receiver is down.</p>
      <a class="button main" href={href('/endpoints/new')}>
        Add the first endpoint
      </a>
    </Empty>
  );
}
