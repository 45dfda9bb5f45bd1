/** Signing in: with a password, a link by e-mail, or an API key; and joining by the link of an invitation. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { asProblem, call, get, type Problem } from './api';
import { go } from './route';
import { session, signIn, start } from './session';
import type { Session } from './types';
import { Button, ProblemNote } from './ui/basic';
import { Dialog } from './ui/overlay';

const SHORTEST_PASSWORD = 12;

export function SignIn() {
  return (
    <main class="centre">
      <Ways>
        <h1>Touchbase</h1>
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
  const [byKey, setByKey] = useState(!session.value?.passwords && !session.value?.user);
  useEffect(() => {
    // A session that has ended was told of no ways to sign in.
    if (session.value?.user) get<Session>('/console/session').then(setWays, () => undefined);
  }, []);
  if (byKey) {
    return (
      <KeyForm>
        {children}
        {ways?.passwords && (
          <Button kind="quiet" onClick={() => setByKey(false)}>
            Use a password
          </Button>
        )}
      </KeyForm>
    );
  }
  return (
    <PasswordForm links={ways?.links ?? false}>
      {children}
      <Button kind="quiet" onClick={() => setByKey(true)}>
        Use an API key
      </Button>
    </PasswordForm>
  );
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

/** The heading, the fields, and behind the button another way to sign in. */
function parts(children: ComponentChildren): [ComponentChildren, ComponentChildren] {
  return Array.isArray(children) ? [children.slice(0, -1), children.at(-1)] : [children, null];
}

function PasswordForm({ links, children }: { links: boolean; children: ComponentChildren }) {
  const [email, setEmail] = useState(session.value?.user?.email ?? '');
  const [password, setPassword] = useState('');
  const [sentTo, setSentTo] = useState('');
  const signing = useSending(() => signIn({ email: email.trim(), password }));
  const mailing = useSending(async () => {
    await call('POST', '/console/links', { body: { email: email.trim() } });
    setSentTo(email.trim());
  });
  const [head, other] = parts(children);
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
      {other}
    </form>
  );
}

function KeyForm({ children }: { children: ComponentChildren }) {
  const [key, setKey] = useState('');
  const { problem, busy, send } = useSending(() => signIn({ key: key.trim() }));
  const [head, other] = parts(children);
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
      {other}
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
  useEffect(() => {
    document.title = 'Join · Touchbase';
  }, []);
  return (
    <main class="centre">
      <form class="sign-in" onSubmit={send}>
        <h1>Touchbase</h1>
        <p>Choose the password with which you sign in from now on.</p>
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
        <Button type="submit" kind="main" busy={busy}>
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
