/** Companies. */
import type { Company } from '../types';
import { idColumn, nameColumn, ownerColumn, statusColumn, textColumn, textColumns, timeColumn } from './columns';
import { companyName, nameCompanies, NO_DOMAIN } from './companies';
import type { Kind } from './kind';
import { textsBut } from './texts';

const NAMES = ['name', 'domain'];
const TEXTS = textsBut('company', NAMES);

export const COMPANIES: Kind<Company> = {
  one: 'company',
  many: 'companies',
  title: 'Companies',
  icon: 'company',
  path: '/companies',
  api: '/public/v2/companies',
  status: 'company_status',
  statusOf: (of) => of.company_status,
  customOf: (of) => ({ __proto__: null, ...of.company_custom_fields }), // a field may be called "constructor"
  nameOf: companyName,
  below: (of) => of.domain || NO_DOMAIN,
  when: (of) => of.status_changed_at,
  listed: (of) => (of.domain ? { kind: 'domain', value: of.domain } : null),
  listedAs: ['domain', 'domains'],
  columns: [
    nameColumn<Company>('/companies', 'name', companyName),
    textColumn<Company>('domain', 220, NO_DOMAIN),
    statusColumn<Company>('company_status', (of) => of.company_status),
    timeColumn<Company>('status_changed_at'),
    statusColumn<Company>('previous_status', (of) => of.previous_status),
    ...textColumns<Company>(TEXTS),
    ownerColumn<Company>(),
    timeColumn<Company>('updated_time'),
    idColumn<Company>(),
  ],
  usual: ['name', 'domain', 'company_status', 'status_changed_at', 'updated_time'],
  inLists: [...NAMES, 'owner_id', 'company_status', 'previous_status', 'status_changed_at', 'updated_time'],
  times: ['status_changed_at', 'updated_time', 'created_time'],
  texts: [...NAMES, ...TEXTS, 'company_status', 'previous_status'],
  views: [
    { name: 'All companies', query: {} },
    { name: 'Status changed in the last 7 days', query: { 'status_changed_at[gte]': '7d', sort: '-status_changed_at' } },
    { name: 'New in the last 7 days', query: { 'created_time[gte]': '7d', sort: '-created_time' } },
    { name: 'Without a status', query: { 'company_status[is_set]': 'false' } },
    { name: 'Without a domain', query: { 'domain[is_set]': 'false', sort: 'name' } },
    { name: 'Without a name', query: { 'name[is_set]': 'false', sort: 'domain' } },
  ],
  searches: 'Search names, domains, fields',
  prepare: (rows) => Promise.resolve(nameCompanies(rows)),
  members: [...NAMES, ...TEXTS],
  editable: [...NAMES, ...TEXTS],
  always: NAMES,
  show: (_, __, value) => value,
  twins: (of) => (of.name ? { name: of.name } : null),
};
