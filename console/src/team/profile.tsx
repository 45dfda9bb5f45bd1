/** The person who is signed in: name, password, sessions and personal keys. */
import { useState } from 'preact/hooks';
import { asProblem, call as send, type Problem } from '../api';
import { useGet } from '../data';
import { session } from '../session';
import { useTitle } from '../title';
import type { Schemas } from '../types';
import { Button, Empty, ProblemNote, Skeleton } from '../ui/basic';
import { Confirm, Field } from '../ui/confirm';
import { toast } from '../ui/toast';
import { MyNotifications } from './notifications';
import { PersonalKeys, Sessions } from './own';

type Me = Schemas['MeOut'];

export function Profile() {
  const own = session.value?.user;
  useTitle('Profile');
  if (!own) {
    return (
      <main id="main" class="screen">
        <Empty icon="contacts" whole title="Nobody is signed in by name">
          <p>{session.value?.keys_needed ? 'You are signed in with an API key. People have a profile.' : 'This server asks nobody to sign in.'}</p>
        </Empty>
      </main>
    );
  }
  return (
    <main id="main" class="screen clients">
      <header class="screen-head">
        <h1>Profile</h1>
      </header>
      <Self />
      <Told />
      <Sessions of="" />
      <PersonalKeys of="" />
    </main>
  );
}

function Told() {
  const loaded = useGet<Me>('/team/v1/me');
  return loaded.data?.user ? <MyNotifications user={loaded.data.user} onSaved={() => void loaded.refetch()} /> : null;
}

function Self() {
  const loaded = useGet<Me>('/team/v1/me');
  const user = loaded.data?.user;
  const [name, setName] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [changes, setChanges] = useState(false);
  if (!user) return loaded.error ? <ProblemNote problem={loaded.error} retry={() => void loaded.refetch()} /> : <Skeleton lines={3} />;

  async function save(event: Event) {
    event.preventDefault();
    if (name === null || !user) return;
    setBusy(true);
    setProblem(null);
    try {
      await send('PATCH', `/team/v1/users/${user.id}`, { body: { name: name.trim() } });
      const known = session.value;
      if (known?.user) session.value = { ...known, user: { ...known.user, name: name.trim() } };
      setName(null);
      toast('Your name is saved.');
      void loaded.refetch();
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }

  return (
    <form class="profile" onSubmit={(event) => void save(event)}>
      <Field label="Name" help={user.email}>
        <input type="text" autocomplete="name" value={name ?? user.name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      {problem && <ProblemNote problem={problem} />}
      <div class="row">
        <Button type="submit" kind="main" busy={busy} disabled={!name?.trim() || name.trim() === user.name}>
          Save name
        </Button>
        {user.has_password && <Button onClick={() => setChanges(true)}>Change password</Button>}
      </div>
      {changes && <NewPassword onClose={() => setChanges(false)} />}
    </form>
  );
}

function NewPassword({ onClose }: { onClose: () => void }) {
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');

  async function run() {
    await send('PUT', '/team/v1/me/password', { body: { current, password } });
    toast('Your password is changed. You are signed out everywhere else.');
  }

  return (
    <Confirm title="Change password" action="Change password" disabled={!current || password.length < 12} onClose={onClose} run={run}>
      <Field label="Present password">
        <input type="password" autocomplete="current-password" autofocus value={current} onInput={(event) => setCurrent(event.currentTarget.value)} />
      </Field>
      <Field label="New password" help="At least 12 characters. All your other sessions end.">
        <input type="password" autocomplete="new-password" value={password} onInput={(event) => setPassword(event.currentTarget.value)} />
      </Field>
    </Confirm>
  );
}
