export interface Key {
  key_id: string;
  prefix: string;
  name: string;
  client_id: string | null;
  scopes: string[];
  state: string;
  created_time: string;
  expires_time: string | null;
  revoked_time: string | null;
  last_used_time: string | null;
  replaced_by: string | null;
}

export interface MadeKey extends Key {
  key?: string;
}

/** Each scope with its short name and what it permits. */
export const SCOPES: readonly (readonly [string, string, string])[] = [
  ['records:read', 'Read', 'Reading contacts, companies and timelines.'],
  ['records:write', 'Write', 'Creating, changing, deleting, restoring and merging them.'],
  ['admin', 'Administer', 'All of that, erasing and exporting a person, and everything under /admin: webhooks, connections, settings, keys.'],
];
