/** What the API answers, as far as the console reads it. */

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

export interface Contact {
  id: number;
  updated_time: string;
  first_name: string;
  last_name: string;
  origin: string;
  email?: string;
  linkedin_url?: string;
  company_id?: number;
  external_id?: string;
  contact_status?: string;
  first_campaign_email_sent: string | null;
  last_campaign_email_sent: string | null;
  last_reply_received: string | null;
  previous_status: string | null;
  status_changed_at: string | null;
  contact_custom_fields: Record<string, string | number | boolean | null>;
}

export interface Company {
  id: number;
  updated_time: string;
  domain: string;
  name?: string;
  company_status?: string;
  external_id?: string;
  previous_status: string | null;
  status_changed_at: string | null;
  company_custom_fields: Record<string, string | number | boolean | null>;
}

export interface Client {
  client_id: string;
  /** Its name in addresses. */
  handle?: string;
  name: string;
  state: string;
}

export interface Status {
  name: string;
  records: number;
  role: string | null;
}

export interface CustomField {
  name: string;
  type: string;
  options: string[];
  records: number;
}

export interface Setter {
  event: string;
  occurred_at: string;
  received_at: string;
  tool: string | null;
  campaign: string | null;
  delivery_id: number | null;
  key_id: string | null;
  request_id: string | null;
}

/** An event that named a value, and why that is not the present one. */
export interface OtherValue {
  value: string | null;
  reason: string;
  event: Setter;
}

export interface Explained {
  field: string;
  value: string | null;
  set_by: Setter | null;
  others: OtherValue[];
  others_total: number;
}

export interface Change {
  field: string;
  value: string | null;
  previous: string | null;
}

export interface Moment extends Setter {
  changed: Change[];
  message_id: number | null;
  problems: { code: string; detail: string }[];
}

export interface Message {
  id: number;
  contact_id: number;
  contact_email: string | null;
  channel: string;
  occurred_at: string;
  tool: string;
  subject: string | null;
  text: string | null;
  campaign_id: string | null;
  campaign_name: string | null;
  category: string | null;
}

export interface Suppression {
  suppressed: boolean;
  reason: string | null;
  list: string | null;
  kind: string | null;
  value: string | null;
  since: string | null;
  until: string | null;
}

export interface DeliveryEvent {
  event: string;
  occurred_at: string | null;
  campaign: string | null;
  status: string | null;
  record: string | null;
  record_id: number | null;
}

export interface Person {
  contact_id: number | null;
  email: string | null;
  linkedin_url: string | null;
}

export interface Delivery {
  id: number;
  client_id: string;
  channel: string;
  state: string;
  tool: string | null;
  received_at: string;
  applied_at: string | null;
  attempts: number;
  repeats: number;
  error: string | null;
  size: number;
  verified: boolean;
  problems: { code: string; detail: string }[];
}

export interface ListedDelivery extends Delivery {
  people: Person[];
  events: string[];
  more_events: boolean;
  found_in: string | null;
}

export interface WholeDelivery extends Delivery {
  headers: Record<string, string>;
  query: string;
  body: { encoding: string; content: string } | null;
  body_removed: string | null;
  events: DeliveryEvent[];
}

export interface Group {
  client_id: string;
  channel: string;
  tool: string | null;
  state: string;
  event: string | null;
  keys: string[];
  count: number;
  first_received_at: string;
  last_received_at: string;
  example_id: number;
  reason: string | null;
}

export interface Refusal {
  received_at: string;
  client_id: string;
  channel: string;
  tool: string | null;
  cause: string;
  size: number;
  calls: number;
  body_id: string | null;
}

export interface Replay {
  count: number;
  left: number;
  next_cursor: string | null;
}

export interface Session {
  keys_needed: boolean;
  signed_in: boolean;
  version: string;
  scopes: string[];
  client_id: string | null;
  key_name: string;
  ends_time: string | null;
  /** The client that was asked for by handle or id. */
  client: { client_id: string; handle: string; name: string } | null;
}
