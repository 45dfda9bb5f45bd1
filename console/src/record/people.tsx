/** The people of a company: the contacts that are linked to it. */
import { useGet } from '../data';
import { href } from '../route';
import type { Contact, Page } from '../types';
import { LoadProblem, Skeleton, Time } from '../ui/basic';
import { StatusMark } from '../ui/status';
import { personName } from '../words';

const SHOWN = 10;

/** The people of a company; of a contact, whose id is '' here, there are none to wait for. */
export function usePeopleOf(id: string) {
  const query = { company_id: id, sort: '-last_reply_received', structure: 'FLAT', limit: String(SHOWN) };
  return useGet<Page<Contact>>('/public/v2/contacts', query, { enabled: id !== '' });
}

export function People({ id }: { id: string }) {
  const loaded = usePeopleOf(id);
  const people = loaded.data?.data ?? [];
  return (
    <section class="people" aria-labelledby="people">
      <h2 id="people">People</h2>
      <LoadProblem of={loaded} />
      {!loaded.data && !loaded.error && <Skeleton lines={4} wide={80} />}
      {loaded.data && !people.length && <p class="faint">No contact is linked to this company. A contact gets its company from an import, a CRM or a request, or by the domain of its email address, if the client’s settings say so.</p>}
      <ul>
        {people.map((each) => (
          <li key={each.id}>
            <a class="strong cut" href={href(`/contacts/${each.id}`)}>
              {personName(each)}
            </a>
            <span class="faint cut">{each.email}</span>
            <StatusMark status={each.contact_status} />
            <span class="faint">{each.last_reply_received ? <>replied <Time at={each.last_reply_received} /></> : each.last_campaign_email_sent ? <>emailed <Time at={each.last_campaign_email_sent} /></> : 'not emailed'}</span>
          </li>
        ))}
      </ul>
      {people.length > 0 && <a href={href('/contacts', { company_id: id })}>{loaded.data?.next_cursor ? 'Show all people in the list' : 'Show them in the list'}</a>}
    </section>
  );
}
