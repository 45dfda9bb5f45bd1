/** What the API answers about clients and their connections, as far as these screens read it. */

export type Channel = 'email_campaign' | 'crm';

export interface StatusSet {
  statuses: string[];
  transitions: Record<string, string[]>;
}

export interface ClientSettings {
  on_duplicate: 'error' | 'return' | 'update';
  contact_statuses: StatusSet | null;
  company_statuses: StatusSet | null;
  create_unknown: boolean;
  linkedin_reply_counts: boolean;
  limits: Record<string, number | null> | null;
  keep_bodies_days: number | null;
  keep_deleted_days: number;
  erase_on_crm_request: boolean;
  max_stored_bytes: number | null;
  require_verification: Record<Channel, boolean>;
  link_companies_by_email: 'off' | 'existing' | 'create';
  suppress_on: Record<'unsubscribed' | 'complained' | 'hard_bounced', boolean>;
  store_message_bodies: boolean;
  operators_export: boolean;
}

export interface ClientDetail {
  client_id: string;
  name: string;
  state: string;
  created_time: string;
  made_by: string | null;
  stored_bytes: number;
  deletion: { started_time: string; removed_rows: number; total_rows: number | null } | null;
  settings: ClientSettings;
  former_ids: { client_id: string; valid_until: string }[];
}

export interface Calls {
  last_time: string;
  per_day: number;
  usual_interval_seconds: number | null;
  silent_since_time: string | null;
}

export interface ConnectionSettings {
  status_property: Record<string, string | null>;
  status_labels: Record<string, string | null>;
  objects: Record<string, string>;
  create_unknown: boolean | null;
  linkedin_reply_counts: boolean | null;
  unknown_bounces: boolean | null;
  deals_set_status: boolean;
  deal_labels: Record<string, string | null>;
  time_zone: string | null;
  fields: Record<string, string>;
  events: Record<string, string>;
  api_base: string | null;
  api_user: string | null;
  location_id: string | null;
  allow_v1_signatures: boolean;
  signature_max_age: number | null;
  written_property: string | null;
  silence_alarm: boolean;
}

export interface Connection {
  channel: Channel;
  tool: string;
  secret: 'set' | 'not set';
  secret_count: number;
  created_time: string;
  updated_time: string;
  settings: ConnectionSettings;
  access_token: 'set' | 'not set';
  fetching: { state: string; wanted: number; last_error: string | null } | null;
  calls: Calls | null;
  /** Where the adapter of the tool has its facts from. */
  seen: string[];
  generated_secret?: string;
  would_refuse?: { tool: string | null; calls: number; last_received_time: string; reason: string }[];
}

/** What a tool has not taken, by its last attempt. */
export interface Push {
  event: string;
  endpoint_id: number;
  value: string | null;
  record_id: number | null;
  state: 'waiting' | 'failed' | 'skipped';
  attempts: number;
  last_attempt_time: string;
  reason: string;
  advice: string;
  response_body: string;
}

export interface Silence {
  since_time: string;
  noticed_time: string;
  ended_time: string | null;
  calls_per_day: number;
  usual_interval_seconds: number | null;
}
