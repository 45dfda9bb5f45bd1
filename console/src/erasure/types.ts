/** Erasures, and what is stored about a person, as the API answers them. */
import type { Contact, Message } from '../types';
import { plural } from '../words';

export interface ErasureRequest {
  id: number;
  asked_time: string;
  searched_time: string | null;
  /** When the files of the store were cleaned, too. */
  done_time: string | null;
  removed: Record<string, number>;
  searched_share: number;
  /** Where all clients are shown. */
  client_id?: string;
}

export interface Erased {
  erasure_id: number;
  removed: Record<string, number>;
  inbox_searched: boolean;
}

interface Source {
  channel: string;
  tool: string;
  events: number;
  first_received_at: string;
  last_received_at: string;
}

interface ExportedDelivery {
  id: number;
  shared: boolean;
}

/** A page of an export; only the first one has more than deliveries. */
export interface Export {
  deliveries: ExportedDelivery[];
  next_cursor: string | null;
  contact?: Contact;
  created_at?: string;
  identities?: { tool: string; object_type: string; object_id: string }[];
  sources?: Source[];
  timeline?: unknown[];
  suppressions?: unknown[];
  messages?: Message[];
}

export interface Person {
  contact: Contact;
  first: Export;
}

const KINDS: Record<string, readonly [string, string]> = {
  contacts: ['contact', 'contacts'],
  custom_fields: ['custom field', 'custom fields'],
  events: ['event of the timeline', 'events of the timeline'],
  links: ['former address or tool object', 'former addresses and tool objects'],
  deliveries: ['body of a webhook', 'bodies of webhooks'],
  unsearchable: ['body that could not be searched', 'bodies that could not be searched'],
  messages: ['message', 'messages'],
  wanted_records: ['record still to be fetched', 'records still to be fetched'],
  company_claims: ['company still to be known', 'companies still to be known'],
  kept_answers: ['response stored for retries', 'responses stored for retries'],
};

/** What was removed, in words. */
export function removedText(removed: Record<string, number>): string {
  const parts = Object.entries(removed).filter(([, count]) => count).map(([kind, count]) => {
    const words = kind.replace(/_/g, ' ');
    return plural(count, ...(KINDS[kind] ?? [words, words]));
  });
  return parts.join(', ') || 'nothing was stored';
}
