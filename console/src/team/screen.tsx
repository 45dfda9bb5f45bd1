/** The team: people with their roles, invitations, and where one is signed in. */
import { useState } from 'preact/hooks';
import { useAct } from '../acts';
import { call as send } from '../api';
import { useGet, usePages } from '../data';
import { clients, isAdmin, seesEveryClient, session } from '../session';
import { SettingsTabs } from '../settings/tabs';
import { useTitle } from '../title';
import { Button, Empty, LoadProblem, Skeleton, Time } from '../ui/basic';
import { Confirm } from '../ui/confirm';
import { StatusMark } from '../ui/status';
import { toast, toastProblem } from '../ui/toast';
import type { Schemas } from '../types';
import { Dialog } from '../ui/overlay';
import { Invite, NewLink, Rights, type User } from './dialogs';
import { PersonalKeys, Sessions } from './own';

type Invitation = Schemas['InvitationOut'];
type What = 'invite' | 'rights' | 'link' | 'sessions' | 'suspend' | 'revoke';

const ROLES: Readonly<Record<string, string>> = { viewer: 'Viewer', operator: 'Operator', admin: 'Admin' };

/** Whether the person or key may manage people. */
const manages = () => isAdmin.value && seesEveryClient.value;

export function Team() {
  const people = usePages<User>('/team/v1/users', { limit: '200' });
  const invitations = useGet<{ data: Invitation[] }>('/team/v1/invitations', {}, { enabled: manages() });
  const [opened, setOpened] = useState<{ what: What; of: User | null } | null>(null);
  useAct(() => manages() && setOpened({ what: 'invite', of: null }));
  useTitle('Team');
  const shown = people.data;
  const close = () => setOpened(null);
  const reload = () => {
    people.refetch();
    if (manages()) void invitations.refetch();
  };
  const of = opened?.of ?? null;
  const invitation = invitations.data?.data.find((each) => each.user.id === of?.id);

  return (
    <main id="main" class="screen clients settings">
      <header class="screen-head">
        <h1>Team</h1>
        <span class="push" />
        {manages() && (
          <Button kind="main" icon="plus" onClick={() => setOpened({ what: 'invite', of: null })}>
            Invite
          </Button>
        )}
      </header>
      <SettingsTabs />
      {!session.value?.keys_needed && (
        <p class="meaning">This server asks nobody to sign in: you on this machine may do everything. People can be invited now, and sign in once it is served with --auth api-key.</p>
      )}
      <LoadProblem of={people} />
      {!shown && !people.error && <Skeleton lines={6} wide={100} />}
      {shown?.length === 0 && (
        <Empty icon="contacts" title="Nobody is here yet">
          <p>Invite the people who work with you. Each gets a link to choose a password, and sees the clients of their roles.</p>
        </Empty>
      )}
      {shown && shown.length > 0 && (
        <ul class="lines" aria-label="People">
          {shown.map((each) => (
            <li key={each.id} class="line-of">
              <Person of={each} open={(what) => setOpened({ what, of: each })} reload={reload} />
            </li>
          ))}
        </ul>
      )}
      {people.hasMore && <Button onClick={people.more}>Show more</Button>}
      {opened?.what === 'invite' && <Invite onClose={close} onDone={reload} />}
      {opened?.what === 'rights' && of && <Rights of={of} onClose={close} onDone={reload} />}
      {opened?.what === 'link' && of && <NewLink of={of} onClose={close} onDone={reload} />}
      {opened?.what === 'sessions' && of && (
        <Dialog title={`Sessions and keys of ${of.name || of.email}`} wide onClose={close}>
          <Sessions of={of.id} />
          <PersonalKeys of={of.id} />
        </Dialog>
      )}
      {opened?.what === 'suspend' && of && (
        <Confirm
          title={`Suspend ${of.name || of.email}?`}
          action="Suspend"
          danger
          onClose={close}
          run={async () => {
            await send('PATCH', `/team/v1/users/${of.id}`, { body: { state: 'suspended' } });
            toast(`${of.name || of.email} is suspended.`);
            reload();
          }}
        >
          <p>Every session of this person ends within a second, and personal keys are refused. Other keys that the person knows stay valid: revoke them under Keys.</p>
        </Confirm>
      )}
      {opened?.what === 'revoke' && of && invitation && (
        <Confirm
          title={`Revoke the invitation of ${of.email}?`}
          action="Revoke"
          danger
          onClose={close}
          run={async () => {
            await send('DELETE', `/team/v1/invitations/${invitation.id}`);
            toast('The invitation is revoked.');
            reload();
          }}
        >
          <p>The link works no longer.</p>
        </Confirm>
      )}
    </main>
  );
}

/** The roles of a person in words: `Viewer of all clients; Admin of Alder`. */
function rolesOf(user: User): string {
  const names = new Map(clients.value.map((each) => [each.client_id, each.name || each.client_id]));
  const single = user.grants.map((each) => `${ROLES[each.role]} of ${names.get(each.client_id) ?? each.client_id}`);
  return [...(user.role ? [`${ROLES[user.role]} of all clients`] : []), ...single].join('; ') || 'No client';
}

function Person({ of, open, reload }: { of: User; open: (what: What) => void; reload: () => void }) {
  const isSelf = session.value?.user?.id === of.id;
  const name = of.name || of.email;
  return (
    <>
      <div class="what">
        <b dir="auto">
          {name}
          {isSelf && ' (you)'}
        </b>
        <span class="faint">{of.name ? of.email : ''}</span>
      </div>
      <div class="what">
        <span class="line-marks">
          <StatusMark status={of.state} />
        </span>
        <span class="faint">
          {rolesOf(of)}
          {of.last_seen_time && (
            <>
              , seen <Time at={of.last_seen_time} as="ago" />
            </>
          )}
        </span>
      </div>
      <div class="tools">
        {manages() && (
          <>
            <Button aria-label={`Change the roles of ${name}`} onClick={() => open('rights')}>
              Roles
            </Button>
            {of.state !== 'suspended' && (
              <Button aria-label={`New link for ${name}`} onClick={() => open('link')}>
                New link
              </Button>
            )}
            {of.state !== 'invited' && !isSelf && (
              <Button aria-label={`Sessions and keys of ${name}`} onClick={() => open('sessions')}>
                Sessions
              </Button>
            )}
            {of.state === 'active' && !isSelf && (
              <Button kind="danger" aria-label={`Suspend ${name}`} onClick={() => open('suspend')}>
                Suspend
              </Button>
            )}
            {of.state === 'suspended' && <Resume of={of} onDone={reload} />}
            {of.state === 'invited' && (
              <Button kind="danger" aria-label={`Revoke the invitation of ${name}`} onClick={() => open('revoke')}>
                Revoke
              </Button>
            )}
          </>
        )}
      </div>
    </>
  );
}

function Resume({ of, onDone }: { of: User; onDone: () => void }) {
  async function resume() {
    await send('PATCH', `/team/v1/users/${of.id}`, { body: { state: 'active' } });
    toast(`${of.name || of.email} may sign in again.`);
    onDone();
  }
  return (
    <Button aria-label={`Resume ${of.name || of.email}`} onClick={() => resume().catch(toastProblem)}>
      Resume
    </Button>
  );
}
