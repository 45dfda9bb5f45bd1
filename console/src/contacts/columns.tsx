/** The columns of contacts: what they show, how they sort, how wide they are. */
import type { ComponentChildren } from 'preact';
import { href } from '../route';
import type { Company, Contact } from '../types';
import { StatusMark, Time } from '../ui/basic';
import { personName, words } from '../words';

export interface Column {
  key: string;
  name: string;
  width: number;
  /** The name to sort by; none: the API does not sort by it. */
  sort?: string;
  /** Aligned to the right: numbers. */
  number?: boolean;
  show: (contact: Contact, companies: ReadonlyMap<number, Company>) => ComponentChildren;
  /** The value in a file. */
  text: (contact: Contact, companies: ReadonlyMap<number, Company>) => string;
}

type TimeField = 'last_reply_received' | 'last_campaign_email_sent' | 'first_campaign_email_sent' | 'status_changed_at' | 'updated_time';
type TextField = 'email' | 'linkedin_url' | 'origin' | 'external_id';

function time(key: TimeField, name: string): Column {
  return { key, name, width: 124, sort: key, show: (of) => <Time at={of[key]} />, text: (of) => of[key] ?? '' };
}

function plain(key: TextField, name: string, width: number): Column {
  return { key, name, width, sort: key, show: (of) => (of[key] ? <span title={of[key]}>{of[key]}</span> : null), text: (of) => of[key] ?? '' };
}

export const NAME: Column = {
  key: 'name',
  name: 'Name',
  width: 200,
  sort: 'last_name',
  show: (of) => (
    <a class="strong" href={href(`/contacts/${of.id}`)} tabIndex={-1}>
      {personName(of)}
    </a>
  ),
  text: personName,
};

const FIXED: readonly Column[] = [
  NAME,
  plain('email', 'E-mail', 264),
  { key: 'contact_status', name: 'Status', width: 148, sort: 'contact_status', show: (of) => <StatusMark status={of.contact_status} />, text: (of) => of.contact_status ?? '' },
  {
    key: 'company', name: 'Company', width: 180,
    show: (of, companies) => companyName(of, companies),
    text: companyName,
  },
  time('last_reply_received', 'Last reply'),
  time('last_campaign_email_sent', 'Last mailed'),
  time('first_campaign_email_sent', 'First mailed'),
  time('status_changed_at', 'Status since'),
  { key: 'previous_status', name: 'Previous status', width: 148, sort: 'previous_status', show: (of) => (of.previous_status ? <StatusMark status={of.previous_status} /> : null), text: (of) => of.previous_status ?? '' },
  plain('origin', 'Origin', 120),
  plain('linkedin_url', 'LinkedIn', 240),
  plain('external_id', 'External id', 140),
  time('updated_time', 'Changed'),
  { key: 'id', name: 'Id', width: 88, sort: 'id', number: true, show: (of) => of.id, text: (of) => String(of.id) },
];

export const USUAL = ['name', 'email', 'contact_status', 'company', 'last_reply_received', 'last_campaign_email_sent', 'origin'];

function companyName(of: Contact, companies: ReadonlyMap<number, Company>): string {
  if (of.company_id === undefined) return '';
  const found = companies.get(of.company_id);
  return found ? found.name || found.domain : '';
}

/** The column of a custom field. */
export function customColumn(name: string): Column {
  const value = (of: Contact) => of.contact_custom_fields[name];
  return {
    key: `cf.${name}`,
    name,
    width: 140,
    show: (of) => {
      const found = value(of);
      return found === undefined || found === null ? null : <span class={typeof found === 'number' ? 'figure' : ''} title={String(found)}>{String(found)}</span>;
    },
    text: (of) => String(value(of) ?? ''),
  };
}

/** All columns that can be chosen. */
export function allColumns(customFields: readonly string[]): Column[] {
  return [...FIXED, ...customFields.map(customColumn)];
}

/** The chosen columns by their keys; the name is always the first. */
export function columnsOf(keys: readonly string[]): Column[] {
  const found = keys
    .filter((key) => key !== 'name')
    .map((key) => FIXED.find((each) => each.key === key) ?? (key.startsWith('cf.') ? customColumn(key.slice(3)) : undefined));
  return [NAME, ...found.filter((each) => each !== undefined)];
}

export function fieldName(key: string): string {
  const bare = key.replace(/\[\w+\]$/, '');
  if (bare.startsWith('cf.')) return bare.slice(3);
  if (bare === 'company_id') return 'Company';
  return FIXED.find((each) => each.key === bare)?.name ?? words(bare.replace(/^company\./, 'company '));
}
