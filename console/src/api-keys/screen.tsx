/** API keys: who has one, what it permits, when it was last used; make, rotate and revoke them. */
import { useState } from 'preact/hooks';
import { useAct } from '../acts';
import { call as send } from '../api';
import { NeedsAdmin } from '../clients/list';
import { usePages } from '../data';
import { client as chosen, go, href, place } from '../route';
import { choosesClient, clients, isAdmin, session } from '../session';
import { SettingsTabs } from '../settings/tabs';
import { useTitle } from '../title';
import { Button, Empty, LoadProblem, Skeleton, Time } from '../ui/basic';
import { Confirm } from '../ui/confirm';
import { StatusMark } from '../ui/status';
import { toast } from '../ui/toast';
import { longTime } from '../words';
import { NewKey, Rotate } from './dialogs';
import { SCOPES, type Key } from './types';

const LIMIT = '50';
const STATES = ['active', 'expired', 'revoked'];

type Opened = { what: 'create' } | { what: 'rotate' | 'revoke'; of: Key } | null;

export function Keys() {
  const state = place.value.query.get('state') ?? 'active';
  const of = choosesClient.value ? (place.value.query.get('of') ?? '') : '';
  const loaded = usePages<Key>('/admin/v1/keys', { limit: LIMIT, ...(state !== 'all' && { state }), ...(of && { client: of }) });
  const [opened, setOpened] = useState<Opened>(null);
  useAct(() => setOpened({ what: 'create' }));
  useTitle('Keys');
  if (!isAdmin.value) return <NeedsAdmin />;
  const shown = loaded.data;
  const close = () => setOpened(null);
  const filter = (changes: Record<string, string>) => go('/keys', { of, state: state === 'active' ? '' : state, ...changes }, true);
  const reload = loaded.refetch;

  return (
    <main id="main" class="screen clients settings">
      <header class="screen-head">
        <h1>Keys</h1>
        <span class="push" />
        <Button kind="main" icon="plus" onClick={() => setOpened({ what: 'create' })}>
          New key
        </Button>
      </header>
      <SettingsTabs />
      {!session.value?.keys_needed && <p class="meaning">This server asks for no keys: all who reach it may do everything. Keys count once it is served with --auth api-key.</p>}
      <div class="filters">
        <label>
          <span class="hidden">State</span>
          <select value={state} onChange={(event) => filter({ state: event.currentTarget.value === 'active' ? '' : event.currentTarget.value })}>
            <option value="active">Active keys</option>
            <option value="expired">Expired keys</option>
            <option value="revoked">Revoked keys</option>
            <option value="all">All keys</option>
          </select>
        </label>
        {choosesClient.value && clients.value.length > 0 && (
          <label>
            <span class="hidden">Client</span>
            <select value={of} onChange={(event) => filter({ of: event.currentTarget.value })}>
              <option value="">Of all clients</option>
              {clients.value.map((each) => (
                <option key={each.client_id} value={each.client_id}>
                  {each.name || each.client_id}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <LoadProblem of={loaded} />
      {!shown && !loaded.error && <Skeleton lines={8} wide={100} />}
      {shown && shown.length === 0 && <None filtered={of !== '' || STATES.indexOf(state) > 0} />}
      {shown && shown.length > 0 && (
        <ul class="lines" aria-label="Keys">
          {shown.map((each) => (
            <li key={each.key_id} class="line-of">
              <One of={each} open={(what) => setOpened({ what, of: each })} />
            </li>
          ))}
        </ul>
      )}
      {loaded.hasMore && <Button onClick={loaded.more}>Show more</Button>}
      {opened?.what === 'create' && <NewKey client={of || chosen.value} onClose={close} onDone={reload} />}
      {opened?.what === 'rotate' && <Rotate of={opened.of} onClose={close} onDone={reload} />}
      {opened?.what === 'revoke' && (
        <Confirm
          title={`Revoke ${opened.of.name}?`}
          action="Revoke"
          danger
          onClose={close}
          run={async () => {
            await send('DELETE', `/admin/v1/keys/${opened.of.key_id}`);
            toast('The key is revoked.');
            reload();
          }}
        >
          <p>Programs that use it get 401 at once, and within a second from every other server. It cannot be made valid again. To replace a key without interruption, rotate it.</p>
        </Confirm>
      )}
    </main>
  );
}

function None({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <Empty icon="search" title="No key like this">
      <a class="button" href={href('/keys')}>
        Show the active keys
      </a>
    </Empty>
  ) : (
    <Empty icon="key" title="No key yet">
      <p>A key opens the records of one client, or of all, to a program or a person. Give each program its own, with no more than it needs.</p>
    </Empty>
  );
}

function One({ of, open }: { of: Key; open: (what: 'rotate' | 'revoke') => void }) {
  const name = of.client_id === null ? 'All clients' : clients.value.find((each) => each.client_id === of.client_id)?.name || of.client_id;
  return (
    <>
      <div class="what">
        <b dir="auto">{of.name || 'No name'}</b>
        <span class="faint">
          {of.prefix}… {name}; {of.scopes.map((each) => SCOPES.find(([scope]) => scope === each)?.[1].toLowerCase() ?? each).join(', ')}
        </span>
      </div>
      <div class="what">
        <span class="line-marks">
          <StatusMark status={of.state} />
          {of.replaced_by && <span class="faint">has a successor</span>}
        </span>
        <span class="faint">
          {of.last_used_time ? (
            <>
              Last used <Time at={of.last_used_time} as="ago" />
            </>
          ) : (
            'Never used'
          )}
          {of.revoked_time ? `, revoked ${longTime(of.revoked_time)}` : of.expires_time ? `, ends ${longTime(of.expires_time)}` : ', never ends'}
        </span>
      </div>
      <div class="tools">
        {of.state === 'active' && (
          <>
            <Button aria-label={`Rotate ${of.name}`} onClick={() => open('rotate')}>
              Rotate
            </Button>
            <Button kind="danger" aria-label={`Revoke ${of.name}`} onClick={() => open('revoke')}>
              Revoke
            </Button>
          </>
        )}
      </div>
    </>
  );
}
