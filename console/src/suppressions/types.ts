/** What the API answers about do-not-contact lists, and how it is said. */

export interface Entry {
  id: number;
  kind: string;
  /** Null: the person was erased, and only a keyed hash of the address is stored. */
  value: string | null;
  reason: string;
  source: string;
  note: string;
  since: string;
  until: string | null;
  active: boolean;
  tool: string | null;
  delivery_id: number | null;
  /** Where all clients are shown. */
  client_id?: string;
}

export interface Fault {
  code: string;
  pointer: string;
  detail: string;
}

export interface Saved {
  data: { outcome: string; entry: Entry | null; errors: Fault[] }[];
  created: number;
  updated: number;
  unchanged: number;
  invalid: number;
}

export interface Checked {
  suppressed: boolean;
  reason: string | null;
  list: string | null;
  kind: string | null;
  value: string | null;
  since: string | null;
  until: string | null;
  errors: Fault[];
}

export const KINDS: Record<string, string> = { email: 'Email address', domain: 'Domain', linkedin_url: 'LinkedIn address' };
export const REASONS: Record<string, string> = {
  requested: 'They asked for it', unsubscribed: 'Unsubscribed', complained: 'Complained', hard_bounced: 'Hard bounce', legal: 'Legal', competitor: 'Competitor',
  customer: 'Customer', other: 'Other',
};
export const SOURCES: Record<string, string> = { event: 'A tool reported it', person: 'A person put it on', import: 'An import', api: 'A program' };

export const PATHS = { client: '/public/v2/suppressions', installation: '/admin/v1/suppressions' } as const;
export type List = keyof typeof PATHS;

/** Lines, commas and semicolons separate addresses; names in front of an address in angle brackets are left out. */
export function addressesOf(text: string): string[] {
  const parts = text.split(/[\n,;]+/).map((each) => (/<([^<>\s]+@[^<>\s]+)>/.exec(each)?.[1] ?? each).trim());
  return [...new Set(parts.filter(Boolean))];
}
