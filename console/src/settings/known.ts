/** The settings of a client as this screen knows them, after the reference page on clients. */
import type { ClientSettings } from '../clients/types';

export type Value = string | number | boolean | null;

export interface Setting {
  /** Its place in the settings, such as `suppress_on.unsubscribed`. */
  path: string;
  name: string;
  about: string;
  usual: Value;
  options?: readonly (readonly [string, string])[];
  /** What an empty number means; without it the number is needed. */
  none?: string;
  least?: number;
}

export interface Group {
  name: string;
  settings: readonly Setting[];
}

export const GROUPS: readonly Group[] = [
  {
    name: 'Records',
    settings: [
      {
        path: 'on_duplicate', name: 'If the record exists', usual: 'error', about: 'What a request that creates a contact or company does when it exists, unless the request says it.',
        options: [['error', 'Refuse it (409)'], ['return', 'Return the record'], ['update', 'Merge what was sent']],
      },
      {
        path: 'link_companies_by_email', name: 'Company by email address', usual: 'off',
        about: 'Whether a contact without a company gets the one with the domain of its business email address.',
        options: [['off', 'Off'], ['existing', 'If the company exists'], ['create', 'And create the company']],
      },
      { path: 'keep_deleted_days', name: 'Keep deleted records', usual: 30, least: 1, about: 'Days that a deleted record can be restored, and a merge undone.' },
      { path: 'erase_on_crm_request', name: 'Erase when a CRM asks', usual: false, about: 'Erases a person at once when a CRM asks for it, such as HubSpot’s privacy deletion; otherwise the contact waits in the bin for you.' },
    ],
  },
  {
    name: 'Webhooks',
    settings: [
      { path: 'create_unknown', name: 'Create unknown people', usual: true, about: 'Whether an email event about an unknown person creates the contact.' },
      { path: 'linkedin_reply_counts', name: 'LinkedIn replies count', usual: true, about: 'Whether a LinkedIn reply moves “last reply received”.' },
      { path: 'require_verification.email_campaign', name: 'Require signatures: campaign tools', usual: false, about: 'Refuses every campaign tool’s webhook without a valid secret or signature.' },
      { path: 'require_verification.crm', name: 'Require signatures: CRMs', usual: false, about: 'Refuses every CRM’s webhook without a valid secret or signature.' },
      { path: 'keep_bodies_days', name: 'Keep bodies', usual: 90, none: 'Permanent', about: 'Days that the body of a processed webhook is stored; empty: permanently.' },
      { path: 'store_message_bodies', name: 'Store texts of messages', usual: true, about: 'Whether subject, text and HTML of emails and LinkedIn messages are stored.' },
    ],
  },
  {
    name: 'Team',
    settings: [{ path: 'operators_export', name: 'Operators may export', usual: true, about: 'Whether people with the role operator may export records as files; administrators always may, viewers never.' }],
  },
  {
    name: 'Do not contact',
    settings: [
      { path: 'suppress_on.unsubscribed', name: 'After an unsubscription', usual: true, about: 'Puts the address on the do-not-contact list.' },
      { path: 'suppress_on.complained', name: 'After a spam complaint', usual: true, about: 'Puts the address on the do-not-contact list.' },
      { path: 'suppress_on.hard_bounced', name: 'After a hard bounce', usual: true, about: 'Puts the address on the do-not-contact list.' },
    ],
  },
];

const limit = (name: string, text: string, of: string): Setting => ({
  path: `limits.${name}`, name: text, usual: null, none: 'the server’s', about: `${of} a second, in each server process; empty: the server’s limit, 0: none.`,
});
/** Only an administrator of all clients changes them. */
export const LIMITS: Group = {
  name: 'Limits',
  settings: [
    limit('requests', 'Requests', 'Requests'),
    limit('rows', 'Rows', 'Rows that requests ask to store'),
    limit('bytes', 'Bytes', 'Bytes of requests'),
    limit('webhooks', 'Webhooks', 'Webhooks'),
    limit('webhook_bytes', 'Bytes of webhooks', 'Bytes of tools’ webhooks'),
    { path: 'max_stored_bytes', name: 'Stored bytes', usual: null, none: 'the server’s', about: 'The most bytes that the client may store; empty: the server’s limit, 0: none.' },
  ],
};

export function valueOf(settings: ClientSettings, path: string): Value {
  const [name = '', inner] = path.split('.');
  const found: unknown = settings[name as keyof ClientSettings];
  if (inner === undefined) return found as Value;
  return ((found as Record<string, Value> | null) ?? {})[inner] ?? null;
}

/** The settings with another value; limits of which none is set are none at all. */
export function withValue(settings: ClientSettings, path: string, value: Value): ClientSettings {
  const [name = '', inner] = path.split('.');
  if (inner === undefined) return { ...settings, [name]: value };
  const part = { ...(settings[name as keyof ClientSettings] as Record<string, Value> | null), [inner]: value };
  return { ...settings, [name]: name === 'limits' && Object.values(part).every((each) => each === null) ? null : part };
}
