/** Endpoints and attempts, as the API answers them. */
import type { Schemas } from '../types';

export type Kind = 'webhook' | 'slack' | 'email' | 'hubspot' | 'blocklist' | 'audit';

export interface Progress {
  waiting: number;
  failed: number;
  failing_since_time: string | null;
  last_delivered_time: string | null;
}

export interface Copies {
  clients: number;
  active: number;
  paused: number;
  disabled: number;
  failing: number;
  failed: number;
}

export interface Endpoint {
  id: number;
  client_id: string | null;
  clients: 'one' | 'all';
  /** The endpoint of all clients that this is a copy of. */
  shared_id: number | null;
  kind: Kind;
  url: string;
  to: string[];
  template: string;
  template_subject: string;
  values: Record<string, string>;
  tool: string;
  types: string[];
  fields: string[];
  filter: Record<string, unknown>;
  ordering: string;
  format: string;
  rate_limit: number;
  description: string;
  state: 'active' | 'paused' | 'disabled';
  state_reason: string | null;
  state_since_time: string;
  created_time: string;
  updated_time: string;
  progress?: Progress;
  copies?: Copies;
  secret?: string;
  previous_secret_until_time?: string;
}

export interface Attempt {
  id: number;
  client_id: string | null;
  endpoint_id: number;
  event: string | null;
  type: string;
  time: string;
  attempt: number;
  outcome: string;
  status: number | null;
  latency_ms: number;
  response_body: string;
  error: string;
}

export type AttemptRequest = Schemas['WebhookRequestOut'];

export interface Preview {
  kind: string;
  type: string;
  headers: Record<string, string>;
  body: unknown;
  not_sent?: string;
}

/** What the address of an endpoint of all clients begins with. */
export const SHARED = 'all-';
export const OF_ALL = '/team/v1/webhook-endpoints';
/** Kinds that write through a connection of one client. */
export const OF_ONE: readonly Kind[] = ['hubspot', 'blocklist'];

/** Kinds that send signed requests. */
export const SIGNED: readonly Kind[] = ['webhook', 'audit'];

export const KIND_NAMES: Record<Kind, string> = { webhook: 'Webhook', slack: 'Slack', email: 'Email', hubspot: 'HubSpot', blocklist: 'Blocklist', audit: 'Audit log' };

/** What each kind is for, for the form. */
export const KIND_LESSONS: Record<Kind, string> = {
  webhook: 'Signed requests to a program of yours: a CRM, a flow, a warehouse.',
  slack: 'A message in a channel when somebody replies.',
  email: 'An email to colleagues when somebody replies.',
  hubspot: 'The status of a contact, written to its HubSpot contact.',
  blocklist: 'Each entry of the do-not-contact list, put on the blocklist of a campaign tool.',
  audit: 'Who did what, over all clients, as signed requests in order: for a SIEM or an archive.',
};

export const OUTCOMES: readonly string[] = ['delivered', 'refused', 'timeout', 'unreachable', 'skipped'];

/** Every type of event that an endpoint may ask for; a test compares it with the API's. */
export const EVENT_TYPES: readonly string[] = [
  'contact.created', 'contact.updated', 'contact.status_changed', 'contact.replied', 'contact.meeting_booked',
  'contact.meeting_canceled', 'contact.meeting_rescheduled', 'contact.meeting_no_show', 'contact.merged', 'contact.deleted', 'contact.restored',
  'contact.erased', 'company.created', 'company.updated', 'company.status_changed', 'company.merged', 'company.deleted', 'company.restored',
  'message.received', 'message.sent', 'conversation.done', 'conversation.reopened', 'conversation.assigned', 'conversation.updated', 'conversation.answered', 'note.created', 'note.updated', 'note.deleted', 'task.created', 'task.updated', 'task.done', 'task.deleted', 'status.renamed', 'suppression.added', 'suppression.removed', 'installation_suppression.added',
  'installation_suppression.removed', 'delivery.failed', 'delivery.unrecognised',
  'connection.silent', 'connection.resumed', 'client.storage_warning',
];
/** The only ones that write to HubSpot. */
export const HUBSPOT_TYPES: readonly string[] = ['contact.status_changed', 'contact.merged'];
/** The only ones that go to a blocklist. */
export const BLOCKLIST_TYPES: readonly string[] = ['suppression.added', 'suppression.removed', 'installation_suppression.added', 'installation_suppression.removed'];
/** The tools whose blocklists an endpoint can fill; a test compares them with the API's. */
export const BLOCKLISTS: readonly string[] = ['instantly', 'smartlead', 'lemlist', 'heyreach', 'reply_io', 'emailbison', 'woodpecker', 'reachinbox'];
