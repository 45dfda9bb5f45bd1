/** Companies by id, for the names of the companies of contacts; shared by all screens of the client. */
import { signal } from '@preact/signals';
import { call } from '../api';
import type { Company, Page } from '../types';
import { asClient } from '../ui/client-chip';

/** What stands for the domain of a company that only its name identifies. */
export const NO_DOMAIN = 'no domain';

export type Named = Pick<Company, 'id' | 'domain' | 'name'>;

export const companies = signal<ReadonlyMap<number, Named>>(new Map());

/** Load the names of the companies of these contacts that are not known yet; `client`: whose they are, if not the scope's. */
export async function loadCompanies(of: readonly { company_id?: number }[], client?: string): Promise<void> {
  const known = companies.peek();
  const ids = [...new Set(of.map((each) => each.company_id).filter((id) => id !== undefined))].filter((id) => !known.has(id));
  if (!ids.length) return;
  try {
    const { data: page } = await call<Page<Named>>('GET', '/public/v2/companies', { ...asClient(client), query: { 'id[in]': ids.join(','), fields: 'name,domain', limit: '200' } });
    companies.value = new Map([...companies.peek(), ...page.data.map((each) => [each.id, each] as const)]);
  } catch {
    // The cells stay empty; the contacts are there.
  }
}

/** Have the names of companies that were just read. */
export function nameCompanies(of: readonly Named[]): void {
  companies.value = new Map([...companies.peek(), ...of.map((each) => [each.id, each] as const)]);
}

export function companyName(of: Named): string {
  return of.name || of.domain;
}
