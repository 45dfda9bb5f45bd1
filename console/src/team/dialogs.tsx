/** Invite somebody, change roles, make a new link. A link is shown once. */
import { useEffect, useState } from 'preact/hooks';
import { call as send } from '../api';
import { clients } from '../session';
import type { Schemas } from '../types';
import { Confirm, Field, ShownOnce } from '../ui/confirm';
import { Dialog } from '../ui/overlay';
import { longTime } from '../words';

export type User = Schemas['UserOut'];
type Role = 'viewer' | 'operator' | 'admin';
type Grants = Readonly<Record<string, Role>>;
type Link = Schemas['NewLinkOut'];

const ABOUT: readonly (readonly [Role, string])[] = [
  ['viewer', 'Viewer: reads records, texts and reports'],
  ['operator', 'Operator: also works with them'],
  ['admin', 'Admin: also sets up tools, webhooks and keys'],
];

interface DoneProps {
  onClose: () => void;
  onDone: () => void;
}

function Shown({ link, onClose }: { link: Link; onClose: () => void }) {
  return (
    <Dialog title="The link" onClose={onClose}>
      <ShownOnce text={link.link} of="link">
        <p>
          It works once, until {longTime(link.expires_time)}.{link.mailed ? ' It is being sent by e-mail, too.' : ' Send it to the person.'}
        </p>
      </ShownOnce>
    </Dialog>
  );
}

/** A role for all clients, and roles for single ones. */
function Roles({ role, grants, onRole, onGrants }: { role: Role | ''; grants: Grants; onRole: (role: Role | '') => void; onGrants: (grants: Grants) => void }) {
  const known = clients.value;
  const names = new Map(known.map((each) => [each.client_id, each.name || each.client_id]));
  const left = known.filter((each) => !(each.client_id in grants));
  function grant(id: string, to: Role | '') {
    const { [id]: _, ...others } = grants;
    onGrants(to ? { ...others, [id]: to } : others);
  }
  return (
    <>
      <Field label="Role for all clients">
        <select value={role} onChange={(event) => onRole(event.currentTarget.value as Role | '')}>
          <option value="">None: only for the clients below</option>
          {ABOUT.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </Field>
      {Object.entries(grants).map(([id, value]) => (
        <Field key={id} label={`Role for ${names.get(id) ?? id}`}>
          <select value={value} onChange={(event) => grant(id, event.currentTarget.value as Role | '')}>
            <option value="">None</option>
            {ABOUT.map(([each, text]) => (
              <option key={each} value={each}>
                {text}
              </option>
            ))}
          </select>
        </Field>
      ))}
      {left.length > 0 && (
        <Field label="Add a client" help="The person sees no other client.">
          <select value="" onChange={(event) => event.currentTarget.value && grant(event.currentTarget.value, 'operator')}>
            <option value="">Choose…</option>
            {left.map((each) => (
              <option key={each.client_id} value={each.client_id}>
                {each.name || each.client_id}
              </option>
            ))}
          </select>
        </Field>
      )}
    </>
  );
}

const listed = (grants: Grants) => Object.entries(grants).map(([client_id, role]) => ({ client_id, role }));

export function Invite({ onClose, onDone }: DoneProps) {
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role | ''>('');
  const [grants, setGrants] = useState<Grants>({});
  const [link, setLink] = useState<Link | null>(null);

  async function run() {
    const body = { email: email.trim(), name: name.trim(), role: role || null, grants: listed(grants) };
    setLink((await send<Link>('POST', '/team/v1/invitations', { body })).data);
    onDone();
    return false;
  }

  if (link) return <Shown link={link} onClose={onClose} />;
  return (
    <Confirm title="Invite somebody" action="Invite" disabled={!email.includes('@') || (!role && !Object.keys(grants).length)} onClose={onClose} run={run}>
      <Field label="Email">
        <input type="email" autofocus value={email} onInput={(event) => setEmail(event.currentTarget.value)} />
      </Field>
      <Field label="Name">
        <input type="text" value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <Roles role={role} grants={grants} onRole={setRole} onGrants={setGrants} />
    </Confirm>
  );
}

export function Rights({ of, onClose, onDone }: DoneProps & { of: User }) {
  const [role, setRole] = useState<Role | ''>('');
  const [grants, setGrants] = useState<Grants>({});
  const [version, setVersion] = useState('');
  // Read anew: the roles may have changed since the list was read, and are saved only over those that are shown here.
  useEffect(() => {
    void send<User>('GET', `/team/v1/users/${of.id}`).then(({ data, headers }) => {
      setRole((data.role ?? '') as Role | '');
      setGrants(Object.fromEntries(data.grants.map((each) => [each.client_id, each.role])));
      setVersion(headers.get('etag') ?? '');
    });
  }, [of.id]);

  async function run() {
    await send('PATCH', `/team/v1/users/${of.id}`, { body: { role: role || null, grants: listed(grants) }, headers: { 'if-match': version } });
    onDone();
  }

  return (
    <Confirm title={`Roles of ${of.name || of.email}`} action="Save" disabled={!version} onClose={onClose} run={run}>
      <p>They hold at once, also where the person is signed in.</p>
      <Roles role={role} grants={grants} onRole={setRole} onGrants={setGrants} />
    </Confirm>
  );
}

export function NewLink({ of, onClose, onDone }: DoneProps & { of: User }) {
  const [link, setLink] = useState<Link | null>(null);

  async function run() {
    setLink((await send<Link>('POST', `/team/v1/users/${of.id}/reset`)).data);
    onDone();
    return false;
  }

  if (link) return <Shown link={link} onClose={onClose} />;
  return (
    <Confirm title={`New link for ${of.name || of.email}`} action="Create link" onClose={onClose} run={run}>
      <p>{of.state === 'invited' ? 'It replaces the link to join that was made before.' : 'With it the person chooses another password. Then all other sessions of the person end.'}</p>
    </Confirm>
  );
}
