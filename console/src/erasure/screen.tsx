/** Erasure: find a person, see what is stored, export it, erase it, and follow the search of stored webhooks. */
import { useEffect, useState } from 'preact/hooks';
import { asProblem, get, type Problem } from '../api';
import { readAgain } from '../data';
import { client, go, place } from '../route';
import { isAdmin, showsAll } from '../session';
import { ClientList } from '../shell';
import { SettingsTabs } from '../settings/tabs';
import { useTitle } from '../title';
import type { Contact, Page } from '../types';
import { Button, Empty, ProblemNote, Skeleton, Time } from '../ui/basic';
import { personName } from '../words';
import { PastErasures } from './past';
import { PersonPanel } from './person';
import { ErasureRequests } from './requests';
import type { Person } from './types';

export function Erasure() {
  useTitle('Erasure');
  if (!isAdmin.value) {
    return (
      <main id="main" class="screen fixed">
        <Empty icon="erase" whole title="Erasure needs an administrator’s key">
          <p>Erasing and exporting a person’s data reaches into stored webhooks. Sign in with a key with the scope “admin”.</p>
        </Empty>
      </main>
    );
  }
  return (
    <main id="main" class="screen erasure settings">
      <header class="screen-head">
        <h1>Erasure</h1>
      </header>
      <SettingsTabs />
      <p class="lead">Removes a person permanently: the contact, its timeline and messages, and the bodies of the webhooks that name the person. Keyed hashes of the addresses stay, so that a late webhook does not bring the person back.</p>
      {showsAll.value ? (
        <section class="choose" aria-label="Choose a client">
          <p>A person is found in the records of one client. Which one?</p>
          <ClientList close={() => undefined} hasAll={false} waits />
        </section>
      ) : (
        <Lookup key={client.value} erased={decided} />
      )}
      <ErasureRequests key={`requests ${client.value}`} decided={decided} />
      <PastErasures key={`past ${client.value}`} />
    </main>
  );
}

function decided(): void {
  readAgain('/public/v2/erasures', '/public/v2/contacts', '/team/v1/erasures', '/team/v1/contacts');
}

type Found = { text: string; people: Contact[] };

/** The filter of the list of contacts for what was typed. */
function filterOf(text: string): Record<string, string> {
  if (/^\d+$/.test(text)) return { 'id[in]': text };
  if (text.includes('@')) return { email: text };
  if (/linkedin\.com\//i.test(text)) return { linkedin_url: text };
  return { q: text };
}

function Lookup({ erased }: { erased: () => void }) {
  const asked = place.value.query.get('person') ?? '';
  const [text, setText] = useState(asked);
  const [found, setFound] = useState<Found | null>(null);
  const [person, setPerson] = useState<Person | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);

  async function choose(contact: Contact) {
    setBusy(true);
    try {
      setPerson({ contact, first: await get(`/public/v2/contacts/${contact.id}/export`, { limit: '200' }) });
      setProblem(null);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }
  async function find(of: string) {
    setPerson(null);
    setProblem(null);
    setFound(null);
    if (!of) return;
    setBusy(true);
    try {
      const page = await get<Page<Contact>>('/public/v2/contacts', { ...filterOf(of), structure: 'FLAT', limit: '20' });
      setFound({ text: of, people: page.data });
      const [only] = page.data;
      if (only && page.data.length === 1) await choose(only);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }
  useEffect(() => {
    setText(asked);
    void find(asked);
  }, [asked]);

  return (
    <section class={asked ? 'lookup asked' : 'lookup'} aria-label="Find the person">
      <form
        class="lookup-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() === asked) void find(asked);
          else go('/erasure', { person: text.trim() });
        }}
      >
        <label for="person">The person</label>
        <div class="row">
          <input id="person" type="text" spellcheck={false} autocomplete="off" placeholder="Email address, LinkedIn address, id or name" value={text} onInput={(event) => setText(event.currentTarget.value)} />
          <Button type="submit" kind="main" icon="search" busy={busy}>
            Find
          </Button>
        </div>
      </form>
      {problem && <ProblemNote problem={problem} />}
      {busy && !person && <Skeleton lines={4} wide={70} />}
      {found && found.people.length === 0 && (
        <p class="faint">
          No contact of this client has “<span dir="auto">{found.text.slice(0, 200)}</span>”. A former address, or the address of a person without a contact, is erased on the command line:{' '}
          <code>touchbase persons erase --client {client.value || 'default'} --email ADDRESS</code>
        </p>
      )}
      {found && found.people.length > 1 && !person && (
        <ul class="people" aria-label="People found">
          {found.people.map((each) => (
            <li key={each.id}>
              <button type="button" class="entry" onClick={() => void choose(each)}>
                <span class="cut" dir="auto">{personName(each)}</span>
                <span class="note cut">{each.email ?? each.linkedin_url ?? `id ${each.id}`}</span>
                <span class="note">
                  changed <Time at={each.updated_time} as="ago" />
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {person && (
        <PersonPanel
          key={person.contact.id}
          person={person}
          erased={() => {
            setPerson(null);
            setFound(null);
            setText('');
            go('/erasure', {}, true);
            erased();
          }}
        />
      )}
    </section>
  );
}
