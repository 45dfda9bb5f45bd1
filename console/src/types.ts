/** What the API answers, as far as the console reads it: from `openapi.json`, see `npm run types`. */
import type { components } from '../generated/openapi';

export type Schemas = components['schemas'];

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

type Value = string | number | boolean | null;

/** A record in the structure FLAT. */
export type Contact = Omit<Schemas['ContactResponse'], 'contact_custom_fields'> & { contact_custom_fields: Record<string, Value> };
export type Company = Omit<Schemas['CompanyResponse'], 'company_custom_fields'> & { company_custom_fields: Record<string, Value> };
/** A client, as far as the switch needs it. */
export type Client = Pick<Schemas['ClientOut'], 'client_id' | 'name' | 'state'> & { handle?: string };
/** A client that may be chosen; `scopes`: what a person may do there. */
export type KnownClient = Pick<Schemas['ClientOut'], 'client_id' | 'name'> & { state?: string; handle?: string; scopes?: string[] | null };
export type Status = Pick<Schemas['RecordStatus'], 'name' | 'records' | 'role' | 'look'>;
export type CustomField = Pick<Schemas['CustomFieldDetail'], 'name' | 'type' | 'options' | 'records'>;
export type Setter = Schemas['EventSource'];
export type OtherValue = Schemas['OtherEventOut'];
export type Explained = Schemas['ExplainedValueOut'];
export type Change = Schemas['FieldChangeOut'];
export type Moment = Schemas['TimelineEvent'];
export type Message = Schemas['MessageOut'];
export type Suppression = Schemas['SuppressionStatus'];
export type DeliveryEvent = Schemas['DeliveryEvent'];
export type Person = Schemas['PersonOut'];
export type Delivery = Schemas['DeliveryOut'];
export type ListedDelivery = Schemas['DeliveryRow'];
export type WholeDelivery = Schemas['DeliveryDetail'];
export type Group = Schemas['DeliveryGroupOut'];
export type Refusal = Schemas['RefusalOut'];
export type Replay = Schemas['ReplayOut'];

/** The console's own resource, which is not in the document. */
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
  /** The person who is signed in; null: a key, or nobody. */
  user: { id: string; email: string; name: string; role: string | null } | null;
  /** The clients that the person chooses among; null: an administrator's or key's. */
  clients: { client_id: string; handle: string; name: string; scopes: string[] | null }[] | null;
  /** Ways to sign in, beside a key; only told to who is not signed in. */
  passwords: boolean;
  links: boolean;
  /** The name of the OpenID provider; empty: there is none. */
  provider: string;
  /** Whether people join and sign in by it alone. */
  provider_only: boolean;
}
