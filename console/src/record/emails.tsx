/** All e-mail addresses of a contact: the first is its `email`, the others lead to it too. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, type Problem } from '../api';
import { CONTACTS } from '../kinds/contact';
import { href } from '../route';
import { canWrite } from '../session';
import type { Contact } from '../types';
import { Button } from '../ui/basic';
import { change } from './change';

export function Emails({ of }: { of: Contact }) {
  const [adding, setAdding] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const emails = of.emails ?? (of.email ? [of.email] : []);
  const can = canWrite.value;
  if (emails.length < 2 && !can) return null;
  async function save(next: string[], said: string) {
    setProblem(null);
    setBusy(true);
    try {
      await change(CONTACTS, of, { emails: next }, { emails }, said);
      setAdding(false);
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <div class="field emails">
      <dt>All emails</dt>
      <dd>
        <ul>
          {emails.map((email, index) => (
            <li key={email}>
              <span class="text" dir="auto">
                {email} {index === 0 && <span class="faint">first</span>}
              </span>
              {can && index > 0 && <Button kind="quiet" icon="asc" label={`Make ${email} the first`} onClick={() => void save([email, ...emails.filter((other) => other !== email)], 'It is the first address now.')} />}
              {can && emails.length > 1 && <Button kind="quiet" icon="close" label={`Remove ${email}`} onClick={() => void save(emails.filter((other) => other !== email), 'Address removed.')} />}
            </li>
          ))}
        </ul>
        {can && (adding ? <NewEmail busy={busy} add={(email) => void save([...emails, email], 'Address added.')} done={() => setAdding(false)} /> : <Button kind="quiet" icon="plus" onClick={() => setAdding(true)}>Add an email</Button>)}
        {problem && (
          <p id="emails-problem" class="wrong" role="alert">
            {problem.message} {problem.body.existing_id !== undefined && <a href={href(`/contacts/${problem.body.existing_id}`)}>Show that contact</a>}
          </p>
        )}
      </dd>
    </div>
  );
}

function NewEmail({ busy, add, done }: { busy: boolean; add: (email: string) => void; done: () => void }) {
  const [text, setText] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  function submit(event: Event) {
    event.preventDefault();
    if (!busy && text.trim()) add(text.trim());
  }
  return (
    <form class="editor" onSubmit={submit}>
      <input
        ref={field}
        type="text"
        inputMode="email"
        aria-label="Another email"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') done();
        }}
      />
      <Button type="submit" kind="main" icon="check" label="Save" busy={busy} />
      <Button kind="quiet" icon="close" label="Cancel" onClick={done} />
    </form>
  );
}
