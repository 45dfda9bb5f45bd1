/** One person: what is stored, everything as a file, and erasing after the address was typed. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, call, get, type Problem } from '../api';
import { href } from '../route';
import { Button } from '../ui/basic';
import { changeToast, dismiss, toast, toastProblem } from '../ui/toast';
import { count, personName, plural, toolName } from '../words';
import { removedText, type Erased, type Export, type Person } from './types';

/** What must be typed to erase. */
function wordOf(person: Person): string {
  return person.contact.email ?? person.contact.linkedin_url ?? String(person.contact.id);
}

function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Read all pages of an export, and save them as one document. */
async function download(person: Person): Promise<void> {
  const shown = toast('Reading everything about this person…', { stays: true });
  try {
    const { next_cursor: first, ...whole } = person.first;
    for (let cursor = first; cursor !== null; ) {
      const page: Export = await get<Export>(`/public/v2/contacts/${person.contact.id}/export`, { limit: '200', cursor });
      whole.deliveries = [...whole.deliveries, ...page.deliveries];
      cursor = page.next_cursor;
      changeToast(shown, `Reading everything about this person… ${plural(whole.deliveries.length, 'webhook')}`);
    }
    save(`person-${person.contact.id}.json`, JSON.stringify(whole, null, 2));
  } catch (error) {
    toastProblem(error);
  }
  dismiss(shown);
}

export function PersonPanel({ person, erased }: { person: Person; erased: () => void }) {
  const { contact, first } = person;
  const [typed, setTyped] = useState('');
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => head.current?.focus(), []);
  const word = wordOf(person);
  const isSure = typed.trim().toLowerCase() === word.toLowerCase();
  async function erase(event: Event) {
    event.preventDefault();
    if (!isSure || busy) return;
    setBusy(true);
    try {
      const made = (await call<Erased>('DELETE', `/public/v2/contacts/${contact.id}`, { query: { erase: 'true' } })).data;
      toast(`The person is erased: ${removedText(made.removed)}.${made.inbox_searched ? '' : ' Stored webhooks are still being searched.'}`);
      erased();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  }
  const calls = `${count(first.deliveries.length)}${first.next_cursor === null ? '' : ' or more'}`;
  const shared = first.deliveries.filter((each) => each.shared).length;
  return (
    <article class="person" aria-label="The person found">
      <header class="part-head">
        <h2 ref={head} tabIndex={-1} dir="auto">{personName(contact)}</h2>
        <a class="button" href={href(`/contacts/${contact.id}`)}>
          The contact
        </a>
        <Button icon="download" onClick={() => void download(person)}>
          Everything as JSON
        </Button>
      </header>
      <p class="facts">
        {contact.email && <span class="cut">{contact.email}</span>}
        {contact.linkedin_url && <span class="cut">{contact.linkedin_url}</span>}
      </p>
      <dl class="stored">
        <Count name="Events" value={count(first.timeline?.length ?? 0)} />
        <Count name="Messages" value={count(first.messages?.length ?? 0)} />
        <Count name="Webhooks" value={calls} />
        <Count name="Addresses and objects" value={count(first.identities?.length ?? 0)} />
        <Count name="Entries not to contact" value={count(first.suppressions?.length ?? 0)} />
      </dl>
      {first.sources !== undefined && first.sources.length > 0 && (
        <p class="faint">
          From {first.sources.map((each) => `${toolName(each.tool || 'api')} (${plural(each.events, 'event')})`).join(', ')}.
          {shared > 0 && ` ${plural(shared, 'webhook names', 'webhooks name')} other people too: the file lists them without their content.`}
        </p>
      )}
      <form class="erase-form" onSubmit={(event) => void erase(event)}>
        <label for="confirm">
          To erase, type <b dir="auto">{word}</b>
        </label>
        <div class="row">
          <input id="confirm" type="text" spellcheck={false} autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
          <Button type="submit" kind="danger" icon="erase" disabled={!isSure} busy={busy}>
            Erase permanently
          </Button>
        </div>
        {problem && <p class="wrong" role="alert">{problem.message}</p>}
        <p class="faint">It cannot be undone. What was sent to other systems stays there, and so do your backups.</p>
      </form>
    </article>
  );
}

function Count({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
