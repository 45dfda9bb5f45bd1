import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { asProblem, type Problem } from './api';
import { signIn } from './session';
import { Button, ProblemNote } from './ui/basic';
import { Dialog } from './ui/overlay';

export function SignIn() {
  return (
    <main class="centre">
      <KeyForm>
        <h1>Touchbase</h1>
        <p>Sign in with an API key. What you can see and change is what the key allows.</p>
      </KeyForm>
    </main>
  );
}

/** Over the page whose session has ended: what was typed there stays. */
export function SignInAgain({ because }: { because: string }) {
  return (
    <Dialog title="Sign in again" stays onClose={() => undefined}>
      <KeyForm>
        <p>{because}</p>
      </KeyForm>
    </Dialog>
  );
}

function KeyForm({ children }: { children: ComponentChildren }) {
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);

  async function send(event: Event) {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      await signIn(key.trim());
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }

  return (
    <form class="sign-in" onSubmit={(event) => void send(event)}>
      {children}
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
      <details id="key-help">
        <summary>Where is my key?</summary>
        <p>
          The first key was printed when the server started for the first time. An administrator makes others with <code>touchbase keys create</code>. The
          console keeps no key: this browser gets a session of twelve hours, which ends with the key.
        </p>
      </details>
    </form>
  );
}
