/** One reply: who wrote what, and the contact's status, which one key sets. */
import { useEffect, useRef } from 'preact/hooks';
import { companies, companyName } from '../kinds/companies';
import { CONTACTS } from '../kinds/contact';
import { change } from '../record/change';
import { href } from '../route';
import { canWrite } from '../session';
import type { Contact, Message, Status } from '../types';
import { Button, Time } from '../ui/basic';
import { StatusMark } from '../ui/status';
import { toastProblem } from '../ui/toast';
import { personName, toolName, words } from '../words';
import { Letter } from './letter';

interface ReplyProps {
  reply: Message;
  contact: Contact | undefined;
  chosen: boolean;
  /** Whether the keyboard chose it: then the focus goes there. */
  byKey: boolean;
  statuses: readonly Status[];
  choose: () => void;
  next: () => void;
}

/** Set the status of a contact; the message offers the way back. */
export function setStatus(contact: Contact, status: string): void {
  const now = contact.contact_status;
  if (status === now) return;
  const said = `${personName(contact)}: status set to “${words(status)}”.`;
  change(CONTACTS, contact, { contact_status: status }, { contact_status: now ?? null }, said).catch(toastProblem);
}

export function Reply({ reply, contact, chosen, byKey, statuses, choose, next }: ReplyProps) {
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (!chosen || !byKey) return;
    item.current?.focus({ preventScroll: true });
    item.current?.scrollIntoView({ block: 'nearest' });
  }, [chosen, byKey]);
  const company = contact?.company_id === undefined ? undefined : companies.value.get(contact.company_id);
  const name = contact ? personName(contact) : (reply.contact_email ?? `Contact ${reply.contact_id}`);
  const address = reply.contact_email === name ? null : reply.contact_email;
  return (
    <li ref={item} class="reply" tabIndex={-1} aria-current={chosen ? 'true' : undefined} onClick={choose}>
      <div class="line">
        <a class="strong cut" href={href(`/contacts/${reply.contact_id}`)}>
          {name}
        </a>
        <span class="mark">
          <StatusMark status={contact?.contact_status} />
        </span>
        <Time at={reply.occurred_at} />
      </div>
      <p class="faint cut">{[address, company && companyName(company)].filter(Boolean).join(' · ') || '\u00a0'}</p>
      {reply.subject && (
        <p class="subject" dir="auto">
          {reply.subject}
        </p>
      )}
      {reply.text ? <Letter text={reply.text} /> : <p class="faint">No text is stored: the tool sent none, or the client’s setting store_message_bodies is off.</p>}
      <p class="faint about">
        {[toolName(reply.tool), reply.channel === 'linkedin' && 'LinkedIn', reply.campaign_name ?? reply.campaign_id, reply.category && `marked “${reply.category}”`].filter(Boolean).join(' · ')}
      </p>
      {chosen && (
        <div class="marks" role="group" aria-label={`Status of ${name}`}>
          {canWrite.value &&
            contact &&
            statuses.map((each, n) => (
              <button key={each.name} type="button" class="button" aria-pressed={each.name === contact.contact_status} onClick={() => setStatus(contact, each.name)}>
                <kbd>{n + 1}</kbd>
                <StatusMark status={each.name} />
              </button>
            ))}
          <Button
            kind="quiet"
            icon="down"
            onClick={(event) => {
              event.stopPropagation();
              next();
            }}
          >
            Next
          </Button>
        </div>
      )}
    </li>
  );
}
