/** One contact: what is known, why, and what happened. */
import { useEffect } from 'preact/hooks';
import { call, get } from '../api';
import { useLoad } from '../load';
import { href } from '../route';
import { canWrite } from '../session';
import { companies, loadCompanies } from '../contacts/rows';
import type { Contact, Explained, Page, Status, Suppression } from '../types';
import { Button, Empty, Icon, ProblemNote, Skeleton, StatusMark, Time } from '../ui/basic';
import { copy, Entry, Popover } from '../ui/overlay';
import { toast, toastProblem } from '../ui/toast';
import { personName, words } from '../words';
import { Doubles } from './doubles';
import { Fields } from './fields';
import { Story } from './story';
import { StatusBar } from './status-bar';

export interface Known {
  contact: Contact;
  explained: Explained[];
  suppression: Suppression;
}

async function read(id: string, signal: AbortSignal): Promise<Known> {
  const path = `/public/v2/contacts/${encodeURIComponent(id)}`;
  const [contact, explained, suppression] = await Promise.all([
    get<Contact>(path, { structure: 'FLAT' }, signal),
    get<{ data: Explained[] }>(`${path}/explain`, {}, signal),
    get<Suppression>(`${path}/suppression`, {}, signal),
  ]);
  await loadCompanies([contact]);
  return { contact, explained: explained.data, suppression };
}

export function Record({ id }: { id: string }) {
  const loaded = useLoad(`contact ${id}`, (signal) => read(id, signal));
  const known = loaded.value;
  useEffect(() => {
    document.title = `${known ? personName(known.contact) : 'Contact'} · Touchbase`;
  }, [known]);
  if (loaded.problem && !known) return <Missing problem={loaded} />;
  return (
    <main id="main" class="screen record">
      <a class="back" href={href('/contacts')}>
        <Icon name="left" /> Contacts
      </a>
      {known ? <Head known={known} reload={loaded.reload} /> : <div class="record-head"><Skeleton lines={2} wide={40} /></div>}
      <div class="record-body">
        <div class="record-main">
          {known ? <StatusBar contact={known.contact} /> : <div class="status-bar" />}
          <section aria-labelledby="story">
            <h2 id="story">What happened</h2>
            <Story id={id} round={known?.contact.updated_time ?? ''} />
          </section>
        </div>
        <aside class="record-side" aria-label="Fields">
          {known ? (
            <>
              <Fields known={known} reload={loaded.reload} />
              <Doubles contact={known.contact} reload={loaded.reload} />
            </>
          ) : (
            <Skeleton lines={9} wide={90} />
          )}
        </aside>
      </div>
    </main>
  );
}

function Missing({ problem: { problem, reload } }: { problem: { problem: Parameters<typeof ProblemNote>[0]['problem'] | null; reload: () => void } }) {
  if (!problem) return null;
  const into = problem.body.existing_id;
  return (
    <main id="main" class="screen fixed">
      {problem.status === 404 ? (
        <Empty icon="contacts" whole title={into ? 'This contact was merged into another one' : 'There is no such contact'}>
          <p>{problem.message}</p>
          <a class="button" href={into ? href(`/contacts/${into}`) : href('/contacts')}>
            {into ? 'Show that one' : 'All contacts'}
          </a>
        </Empty>
      ) : (
        <ProblemNote problem={problem} retry={reload} />
      )}
    </main>
  );
}

function Head({ known, reload }: { known: Known; reload: () => void }) {
  const { contact, suppression } = known;
  const company = contact.company_id === undefined ? undefined : companies.value.get(contact.company_id);
  return (
    <header class="record-head">
      <div class="who">
        <h1>{personName(contact)}</h1>
        <p class="facts">
          {contact.email && (
            <span class="fact">
              <span class="cut">{contact.email}</span>
              <Button kind="quiet" icon="copy" label="Copy the e-mail address" onClick={() => void copy(contact.email ?? '').then(() => toast('The address is copied.'))} />
            </span>
          )}
          {company && (
            <a class="cut" href={href('/contacts', { company_id: String(company.id) })}>
              {company.name || company.domain}
            </a>
          )}
          {contact.last_reply_received && (
            <span>
              Replied <Time at={contact.last_reply_received} as="ago" />
            </span>
          )}
        </p>
      </div>
      <StatusPick contact={contact} reload={reload} />
      {suppression.suppressed && (
        <p class="stop">
          <Icon name="ban" />
          <span>
            Must not be contacted{suppression.reason ? `: ${words(suppression.reason).toLowerCase()}` : ''}
            {suppression.since && (
              <>
                , since <Time at={suppression.since} />
              </>
            )}
          </span>
        </p>
      )}
    </header>
  );
}

/** Change one field; the message offers the way back. */
export async function change(contact: Contact, body: object, back: object, said: string, reload: () => void): Promise<void> {
  const path = `/public/v2/contacts/${contact.id}`;
  await call('PATCH', path, { body });
  reload();
  toast(said, {
    undo: async () => {
      await call('PATCH', path, { body: back });
      reload();
    },
  });
}

function StatusPick({ contact, reload }: { contact: Contact; reload: () => void }) {
  const statuses = useLoad('statuses of a contact', (signal) => get<Page<Status>>('/public/v2/statuses/contacts', { limit: '200' }, signal));
  const now = contact.contact_status;
  if (!canWrite.value) return <StatusMark status={now} />;
  return (
    <Popover text={<StatusMark status={now} />} label={`Status: ${now ?? 'none'}`}>
      {(close) => (
        <div class="entries">
          {statuses.value?.data.map((each) => (
            <Entry
              key={each.name}
              chosen={each.name === now}
              onPick={() => {
                close();
                if (each.name !== now)
                  change(contact, { contact_status: each.name }, { contact_status: now ?? null }, `Status set to “${each.name.replace(/_/g, ' ')}”.`, reload).catch(toastProblem);
              }}
            >
              <StatusMark status={each.name} />
            </Entry>
          ))}
        </div>
      )}
    </Popover>
  );
}
