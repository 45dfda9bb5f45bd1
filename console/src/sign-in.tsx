/** Signing in: by a provider, with a password, a link by e-mail, or an API key; and joining by the link of an invitation. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useTitle } from './title';
import { asProblem, call, get, type Problem } from './api';
import { base, go, place } from './route';
import { type Credentials, resume, session, signIn, start } from './session';
import type { Session } from './types';
import { Button, Icon, ProblemNote } from './ui/basic';
import { Dialog } from './ui/overlay';

const SHORTEST_PASSWORD = 12;

/** Why an account at the provider signed nobody in, by the code with which the server leads back here. */
const REFUSED: Readonly<Record<string, string>> = {
  bound: 'Your account at the provider belongs to another person here. Sign out there, and open the link again.',
  declined: 'You did not sign in at the provider. Try again, or choose another way.',
  domain: 'People with the domain of your address may not sign in here. Choose another account, or ask an administrator.',
  expired: 'This attempt to sign in has ended, or began in another browser. Try again.',
  link: 'The link was used, replaced or has expired. Ask an administrator for another one.',
  invitation: 'Your invitation has expired. Ask an administrator for another one.',
  not_invited: 'Nobody has invited the address of your account. Ask an administrator for an invitation, or choose another account.',
  provider: 'The provider cannot be used now. Try again, or ask an administrator to look at the log of the server.',
  suspended: 'You are suspended. Ask an administrator.',
  taken: 'Another account of the provider belongs to the person with your address. Ask an administrator for a new link.',
  unverified: 'The provider has not verified your address. Open the link of your invitation, and sign in from there.',
};

export function SignIn() {
  const refused = REFUSED[place.value.query.get('problem') ?? ''];
  return (
    <main class="centre">
      <Ways>
        <h1>Touchbase</h1>
        {refused && (
          <div class="problem" role="alert">
            <Icon name="warning" />
            <div>{refused}</div>
          </div>
        )}
      </Ways>
    </main>
  );
}

/** Over the page whose session has ended: what was typed there stays. */
export function SignInAgain({ because }: { because: string }) {
  return (
    <Dialog title="Sign in again" stays onClose={() => undefined}>
      <Ways>
        <p>{because}</p>
      </Ways>
    </Dialog>
  );
}

function Ways({ children }: { children: ComponentChildren }) {
  const [ways, setWays] = useState(session.value);
  const [chosen, choose] = useState<Way | null>(null);
  useEffect(() => {
    // A session that has ended was told of no ways to sign in.
    if (session.value?.user) get<Session>('/console/session').then(setWays, () => undefined);
  }, []);
  const usual = ways?.provider ? 'provider' : ways?.passwords || ways?.user ? 'password' : 'key';
  const way = chosen ?? usual;
  const others = (
    <>
      {way !== 'provider' && ways?.provider && (
        <Button kind="quiet" onClick={() => choose('provider')}>
          Use {ways.provider}
        </Button>
      )}
      {way !== 'password' && ways?.passwords && (
        <Button kind="quiet" onClick={() => choose('password')}>
          Use a password
        </Button>
      )}
      {way !== 'key' && (
        <Button kind="quiet" onClick={() => choose('key')}>
          Use an API key
        </Button>
      )}
    </>
  );
  if (way === 'key') return <KeyForm head={children} others={others} />;
  if (way === 'password') return <PasswordForm links={ways?.links ?? false} head={children} others={others} />;
  return <ProviderForm name={ways?.provider ?? ''} head={children} others={others} />;
}

type Way = 'provider' | 'password' | 'key';

interface FormProps {
  head: ComponentChildren;
  /** Behind the button: the other ways to sign in. */
  others: ComponentChildren;
}

/** Go to the provider; the server leads back to `path`. */
async function toProvider(path: string, link = ''): Promise<void> {
  // Over a page, in a tab of its own: what was typed stays.
  const tab = session.value?.user ? open('', '_blank') : null;
  try {
    const { address } = (await call<{ address: string }>('POST', '/console/oidc', { body: { path, link } })).data;
    (tab ?? window).location.href = address;
  } catch (error) {
    tab?.close();
    throw error;
  }
}

function ProviderForm({ name, head, others }: FormProps & { name: string }) {
  const here = place.value.path[0] === 'sign-in' ? '' : `/console${location.pathname.slice(base.length)}${location.search}`;
  const { problem, busy, send } = useSending(() => toProvider(here));
  useEffect(() => {
    const look = () => void resume().catch(() => undefined);
    addEventListener('focus', look);
    return () => removeEventListener('focus', look);
  }, []);
  return (
    <form class="sign-in" onSubmit={send}>
      {head}
      {problem && <ProblemNote problem={problem} />}
      <Button type="submit" kind="main" busy={busy} autofocus>
        Sign in with {name}
      </Button>
      {others}
    </form>
  );
}

async function signInHere(body: Credentials): Promise<void> {
  await signIn(body);
  if (place.value.path[0] === 'sign-in') go('/', {}, true);
}

/** Run a form's request: one at a time, with its problem. */
function useSending(run: () => Promise<unknown>) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);

  async function send(event: Event) {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      await run();
      setProblem(null);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }

  return { problem, busy, send: (event: Event) => void send(event) };
}

function PasswordForm({ links, head, others }: FormProps & { links: boolean }) {
  const [email, setEmail] = useState(session.value?.user?.email ?? '');
  const [password, setPassword] = useState('');
  const [sentTo, setSentTo] = useState('');
  const signing = useSending(() => signInHere({ email: email.trim(), password }));
  const mailing = useSending(async () => {
    await call('POST', '/console/links', { body: { email: email.trim() } });
    setSentTo(email.trim());
  });
  const problem = signing.problem ?? mailing.problem;
  return (
    <form class="sign-in" onSubmit={signing.send}>
      {head}
      <label for="email">Email</label>
      <input id="email" type="email" autocomplete="username" value={email} required autofocus onInput={(event) => setEmail(event.currentTarget.value)} />
      <label for="password">Password</label>
      <input
        id="password"
        type="password"
        autocomplete="current-password"
        value={password}
        required
        onInput={(event) => setPassword(event.currentTarget.value)}
      />
      {problem && <ProblemNote problem={problem} />}
      {sentTo && <p role="status">If {sentTo} belongs to a person of the team, a link to sign in is on its way. It works for 15 minutes.</p>}
      <Button type="submit" kind="main" busy={signing.busy}>
        Sign in
      </Button>
      {links && (
        <Button busy={mailing.busy} disabled={!email.includes('@')} onClick={mailing.send}>
          Email me a link
        </Button>
      )}
      {others}
    </form>
  );
}

function KeyForm({ head, others }: FormProps) {
  const [key, setKey] = useState('');
  const { problem, busy, send } = useSending(() => signInHere({ key: key.trim() }));
  return (
    <form class="sign-in" onSubmit={send}>
      {head}
      <p>Sign in with an API key. What you can see and change is what the key allows.</p>
      <label for="key">API key</label>
      <input
        id="key"
        type="password"
        autocomplete="current-password"
        spellcheck={false}
        placeholder="tb_live_…"
        value={key}
        required
        autofocus
        aria-describedby="key-help"
        onInput={(event) => setKey(event.currentTarget.value)}
      />
      {problem && <ProblemNote problem={problem} />}
      <Button type="submit" kind="main" busy={busy}>
        Sign in
      </Button>
      {others}
      <details id="key-help">
        <summary>Where is my key?</summary>
        <p>
          The first key was printed when the server started for the first time. An administrator makes others with <code>touchbase keys create</code>. The
          console keeps no key: this browser gets a session, which ends with the key, and after 7 days without use.
        </p>
      </details>
    </form>
  );
}

/** The page of the link of an invitation, or for another password. */
export function Join() {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const { problem, busy, send } = useSending(async () => {
    const link = location.hash.slice(1);
    await call('POST', '/team/v1/invitations/accept', { body: { link, password, name: name.trim() } });
    await start();
    go('/', {}, true);
  });
  useTitle('Join');
  const provider = session.value?.provider ?? '';
  const joining = useSending(() => toProvider('', location.hash.slice(1)));
  if (session.value?.provider_only) {
    return (
      <main class="centre">
        <form class="sign-in" onSubmit={joining.send}>
          <h1>Touchbase</h1>
          <p>You are invited. Join with your account at {provider}.</p>
          {joining.problem && <ProblemNote problem={joining.problem} />}
          <Button type="submit" kind="main" busy={joining.busy}>
            Join with {provider}
          </Button>
        </form>
      </main>
    );
  }
  return (
    <main class="centre">
      <form class="sign-in" onSubmit={send}>
        <h1>Touchbase</h1>
        {provider && (
          <>
            {joining.problem && <ProblemNote problem={joining.problem} />}
            <Button kind="main" busy={joining.busy} onClick={joining.send}>
              Join with {provider}
            </Button>
          </>
        )}
        <p>{provider ? 'Or choose a password.' : 'Choose the password with which you sign in from now on.'}</p>
        <label for="name">Your name</label>
        <input id="name" type="text" autocomplete="name" value={name} autofocus aria-describedby="name-help" onInput={(event) => setName(event.currentTarget.value)} />
        <p class="faint" id="name-help">
          Your colleagues see it. Leave it empty to keep the one that you have.
        </p>
        <label for="password">Password</label>
        <input
          id="password"
          type="password"
          autocomplete="new-password"
          minLength={SHORTEST_PASSWORD}
          value={password}
          required
          aria-describedby="password-help"
          onInput={(event) => setPassword(event.currentTarget.value)}
        />
        <p class="faint" id="password-help">
          At least {SHORTEST_PASSWORD} characters.
        </p>
        {problem && <ProblemNote problem={problem} />}
        <Button type="submit" kind={provider ? undefined : 'main'} busy={busy}>
          Save password
        </Button>
      </form>
    </main>
  );
}

/** The page of a link to sign in: a button, because programs that check mails open links too. */
export function SignInByLink() {
  const { problem, busy, send } = useSending(async () => {
    await signIn({ link: location.hash.slice(1) });
    go('/', {}, true);
  });
  return (
    <main class="centre">
      <form class="sign-in" onSubmit={send}>
        <h1>Touchbase</h1>
        <p>This link signs you in, once.</p>
        {problem && <ProblemNote problem={problem} />}
        <Button type="submit" kind="main" busy={busy}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
