/** What a column of a file can become. */
import { memberName } from '../kinds/kind';
import { textsBut } from '../kinds/texts';

export type Many = 'contacts' | 'companies';

export interface Target {
  value: string;
  name: string;
}

export interface Group {
  name: string;
  targets: Target[];
}

const OF_CONTACTS = ['email', 'emails', 'linkedin_url', 'full_name', 'first_name', 'last_name', 'contact_status'];
const OF_COMPANIES = ['domain', 'name', 'company_status'];
const FIELDS: Record<Many, readonly string[]> = {
  contacts: [...OF_CONTACTS, ...textsBut('contact', OF_CONTACTS), 'company_id'],
  companies: [...OF_COMPANIES, ...textsBut('company', OF_COMPANIES)],
};
const DATES = ['first_campaign_email_sent', 'last_campaign_email_sent', 'last_reply_received'];
const OF_COMPANY = ['company.domain', 'company.name', 'company.company_status'];
const NAMES: Record<string, string> = {
  full_name: 'First and last name', emails: 'All email addresses', company_id: 'Id of the company', 'company.domain': 'Company: domain', 'company.name': 'Company: name', 'company.company_status': 'Company: status',
};
/** By which field alone existing records are found. */
export const MATCHES: Record<Many, readonly string[]> = { contacts: ['email', 'linkedin_url', 'external_id'], companies: ['domain', 'external_id'] };

const named = (value: string): Target => ({ value, name: NAMES[value] ?? memberName(value) });

/** The choices for one column; `known` are the custom fields that the client has. */
export function targetsOf(many: Many, column: string, chosen: string, known: Readonly<Record<Many, readonly string[]>>): Group[] {
  const groups: Group[] = [{ name: many === 'contacts' ? 'Fields of the contact' : 'Fields of the company', targets: FIELDS[many].map(named) }];
  if (many === 'contacts') {
    groups.push({ name: 'Dates of its history', targets: DATES.map(named) });
    groups.push({ name: 'The contact’s company', targets: OF_COMPANY.map(named) });
  }
  groups.push({ name: 'Custom field', targets: custom('cf.', column, known[many], chosen) });
  if (many === 'contacts') groups.push({ name: 'Custom field of the company', targets: custom('company.cf.', column, known.companies, chosen) });
  return groups;
}

function custom(prefix: string, column: string, known: readonly string[], chosen: string): Target[] {
  const names = [column, ...known];
  // A stored mapping may name another one.
  if (chosen.startsWith(prefix)) names.push(chosen.slice(prefix.length));
  return [...new Set(names.map((each) => each.trim()).filter(Boolean))].map((name) => ({ value: prefix + name, name: `${prefix === 'cf.' ? 'Custom field' : 'Company, custom field'}: ${name}${known.includes(name) ? '' : ' (new)'}` }));
}
