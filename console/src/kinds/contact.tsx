/** Contacts. */
import { href } from '../route';
import type { Contact } from '../types';
import { Time } from '../ui/basic';
import { personName } from '../words';
import { idColumn, nameColumn, ownerColumn, statusColumn, textColumn, textColumns, timeColumn } from './columns';
import { companies, companyName, loadCompanies } from './companies';
import type { Kind } from './kind';
import { textsBut } from './texts';

const NAMES = ['first_name', 'last_name', 'email', 'linkedin_url'];
const TEXTS = textsBut('contact', NAMES);
const SENT_TIMES = ['first_campaign_email_sent', 'last_campaign_email_sent', 'last_reply_received'];

function companyOf(of: Contact): string {
  const found = of.company_id === undefined ? undefined : companies.value.get(of.company_id);
  return found ? companyName(found) : '';
}

export const CONTACTS: Kind<Contact> = {
  one: 'contact',
  many: 'contacts',
  title: 'Contacts',
  icon: 'contacts',
  path: '/contacts',
  api: '/public/v2/contacts',
  status: 'contact_status',
  statusOf: (of) => of.contact_status,
  customOf: (of) => ({ __proto__: null, ...of.contact_custom_fields }), // a field may be called "constructor"
  nameOf: personName,
  below: (of) => of.email ?? of.linkedin_url ?? '',
  when: (of) => of.last_reply_received ?? of.last_campaign_email_sent,
  listed: (of) => (of.email ? { kind: 'email', value: of.email } : null),
  listedAs: ['email address', 'email addresses'],
  columns: [
    nameColumn<Contact>('/contacts', 'last_name', personName),
    textColumn<Contact>('email', 264),
    statusColumn<Contact>('contact_status', (of) => of.contact_status),
    {
      key: 'company', name: 'Company', width: 180, isMember: false, filter: (of) => ['company.name', companyOf(of)],
      show: (of) => (companyOf(of) ? <a class="plain" href={href(`/companies/${of.company_id}`)} tabIndex={-1}>{companyOf(of)}</a> : null),
    },
    timeColumn<Contact>('last_reply_received'),
    timeColumn<Contact>('last_campaign_email_sent'),
    timeColumn<Contact>('first_campaign_email_sent'),
    timeColumn<Contact>('status_changed_at'),
    statusColumn<Contact>('previous_status', (of) => of.previous_status),
    textColumn<Contact>('linkedin_url', 240),
    ...textColumns<Contact>(TEXTS),
    ownerColumn<Contact>(),
    timeColumn<Contact>('updated_time'),
    idColumn<Contact>(),
  ],
  usual: ['name', 'email', 'contact_status', 'company', 'last_reply_received', 'last_campaign_email_sent', 'origin'],
  inLists: [...NAMES, 'company_id', 'owner_id', 'contact_status', 'previous_status', 'status_changed_at', 'updated_time', ...SENT_TIMES],
  times: ['last_reply_received', 'last_campaign_email_sent', 'first_campaign_email_sent', 'status_changed_at', 'updated_time', 'created_time'],
  texts: [...NAMES, ...TEXTS, 'contact_status', 'previous_status', 'company.name', 'company.domain', 'company.company_status'],
  views: [
    { name: 'All contacts', query: {} },
    { name: 'Replied in the last 7 days', query: { 'last_reply_received[gte]': '7d', sort: '-last_reply_received' } },
    { name: 'Emailed, and no reply yet', query: { 'last_campaign_email_sent[is_set]': 'true', 'last_reply_received[is_set]': 'false', sort: '-last_campaign_email_sent' } },
    { name: 'Free to email: not emailed for 30 days', query: { 'last_campaign_email_sent[lt]': '30d', sort: 'last_campaign_email_sent' } },
    { name: 'Never emailed', query: { 'first_campaign_email_sent[is_set]': 'false' } },
    { name: 'Without an email address', query: { 'email[is_set]': 'false' } },
  ],
  searches: 'Search names, addresses, companies',
  prepare: loadCompanies,
  members: [...NAMES, 'company_id', ...SENT_TIMES, ...TEXTS],
  editable: [...NAMES, ...TEXTS],
  always: [...NAMES, ...SENT_TIMES],
  show: (of, member, value) => {
    if (SENT_TIMES.includes(member)) return <Time at={value} />;
    if (member === 'company_id') return <a href={href(`/companies/${value}`)}>{companyOf(of) || `Company ${value}`}</a>;
    if (member === 'linkedin_url' && /^https:\/\/([a-z]+\.)?linkedin\.com\//.test(value)) {
      return (
        <a href={value} target="_blank" rel="noreferrer noopener">
          {value.replace(/^https:\/\/(www\.)?/, '')}
        </a>
      );
    }
    return value;
  },
  twins: (of) => (of.first_name && of.last_name ? { first_name: of.first_name, last_name: of.last_name } : null),
};
