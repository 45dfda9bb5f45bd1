/** The people of a company: the contacts that are linked to it. */
import { get } from '../api';
import { useLoad } from '../load';
import { href } from '../route';
import type { Contact, Page } from '../types';
import { ProblemNote, Skeleton, StatusMark, Time } from '../ui/basic';
import { personName } from '../words';

const SHOWN = 10;

export function People({ id }: { id: string }) {
  const loaded = useLoad(`people ${id}`, (signal) =>
    get<Page<Contact>>('/public/v2/contacts', { company_id: id, sort: '-last_reply_received', structure: 'FLAT', limit: String(SHOWN) }, signal),
  );
  const people = loaded.value?.data ?? [];
  return (
    <section class="people" aria-labelledby="people">
      <h2 id="people">People</h2>
      {loaded.problem && <ProblemNote problem={loaded.problem} retry={loaded.reload} />}
      {!loaded.value && !loaded.problem && <Skeleton lines={4} wide={80} />}
      {loaded.value && !people.length && <p class="faint">No contact is linked to this company. A contact gets its company from an import, a CRM or a request, or by the domain of its e-mail address, if the client’s settings say so.</p>}
      <ul>
        {people.map((each) => (
          <li key={each.id}>
            <a class="strong cut" href={href(`/contacts/${each.id}`)}>
              {personName(each)}
            </a>
            <span class="faint cut">{each.email}</span>
            <StatusMark status={each.contact_status} />
            <span class="faint">{each.last_reply_received ? <>replied <Time at={each.last_reply_received} /></> : each.last_campaign_email_sent ? <>mailed <Time at={each.last_campaign_email_sent} /></> : 'not mailed'}</span>
          </li>
        ))}
      </ul>
      {people.length > 0 && <a href={href('/contacts', { company_id: id })}>{loaded.value?.next_cursor ? 'Show all people in the list' : 'Show them in the list'}</a>}
    </section>
  );
}
