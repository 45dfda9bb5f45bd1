/** The settings of a connection: which tools have them, how they are edited, and what they mean. Keys, tests hold it, are all of the API's. */
import { BLOCKLISTS } from '../endpoints/types';
import type { Channel, ConnectionSettings } from './types';

export type SettingName = keyof ConnectionSettings;

export interface SettingRow {
  name: SettingName;
  text: string;
  help: string;
  /** How it is edited. `choice`: null is the client's own setting; `table`: words and what they stand for; `own`: a part of the form draws it. */
  as: 'text' | 'number' | 'check' | 'choice' | 'table' | 'own';
  example?: string;
  /** What the words of a table and their values are called. */
  of?: readonly [string, string];
  shown: (channel: Channel, tool: string) => boolean;
}

export interface SettingGroup {
  name: string;
  /** The usual ones are in sight; the others are unfolded. */
  usual: boolean;
  rows: readonly SettingRow[];
}

/** CRMs whose API is asked for records that their webhooks leave out. */
export const FETCHED = ['acuity', 'airtable', 'attio', 'bitrix24', 'copper', 'folk', 'follow_up_boss', 'freshsales', 'hubspot', 'keap', 'monday', 'notion', 'suitecrm', 'vtiger', 'zendesk_sell', 'zoho'];
/** Campaign tools whose history can be loaded. */
export const LOADED = ['instantly', 'smartlead', 'lemlist', 'heyreach', 'woodpecker', 'reply_io'];
/** Tools whose signatures carry a time. */
export const TIMED: Record<Channel, readonly string[]> = { email_campaign: ['amazon_ses', 'calendly', 'customer_io', 'klaviyo', 'loops', 'mailgun', 'resend', 'sendgrid', 'sendpilot', 'unipile'], crm: ['chatwoot', 'close', 'folk', 'hubspot', 'twenty', 'webflow'] };

const always = () => true;
const isCrm = (channel: Channel) => channel === 'crm';
const of = (...tools: string[]) => (channel: Channel, tool: string) => channel === 'crm' && tools.includes(tool);

/** Whether the tool's API is asked or written to. */
export const hasApi = (channel: Channel, tool: string) => (channel === 'crm' ? FETCHED : BLOCKLISTS).includes(tool);

export const GROUPS: readonly SettingGroup[] = [
  {
    name: 'Reading its webhooks',
    usual: true,
    rows: [
      { name: 'status_property', as: 'own', text: 'The property with the status', help: '', shown: isCrm },
      { name: 'status_labels', as: 'own', text: 'Status mapping', help: '', shown: always },
      { name: 'time_zone', as: 'own', text: 'Time zone', help: 'Of times that name none. Empty: UTC.', shown: always },
      { name: 'create_unknown', as: 'choice', text: 'Events about unknown people create the record', help: '', shown: always },
      { name: 'linkedin_reply_counts', as: 'choice', text: 'LinkedIn replies move “last reply received”', help: '', shown: (channel) => channel === 'email_campaign' },
      { name: 'unknown_bounces', as: 'choice', text: 'A bounce without a type puts the address on the do-not-contact list', help: '', shown: (channel) => channel === 'email_campaign' },
      { name: 'silence_alarm', as: 'check', text: 'Report when nothing comes', help: '', shown: always },
      { name: 'fields', as: 'own', text: 'Where the body has what', help: '', shown: (_, tool) => ['generic', 'airtable', 'baserow', 'google_sheets', 'grist', 'nocodb'].includes(tool) },
      {
        name: 'events', as: 'table', text: 'What its events mean', of: ['Its event', 'Means'], help: 'The tool’s names of events, case ignored. Names that are recognised need no entry.',
        shown: (_, tool) => tool === 'generic',
      },
    ],
  },
  {
    name: 'Kinds of records and deals',
    usual: false,
    rows: [
      {
        name: 'objects', as: 'table', text: 'What its ids stand for', of: ['Id', 'Stands for'], shown: isCrm,
        help: 'contact, company, ignore, or an event such as Contact.update. Ids of monday.com boards, Attio and HubSpot objects, EspoCRM webhooks; a kind of record (Lead) can be ignored.',
      },
      { name: 'deals_set_status', as: 'check', text: 'The stage of a deal sets the status of its person and company', help: 'Of Pipedrive, Close and GoHighLevel. Needs the stages below.', shown: isCrm },
      { name: 'deal_labels', as: 'table', text: 'Stages of deals', of: ['Stage', 'Status'], help: 'Their names or numbers, or won and lost. A stage that is not listed sets none, as does one without a status.', shown: isCrm },
    ],
  },
  {
    name: 'Fetching and writing',
    usual: false,
    rows: [
      { name: 'api_base', as: 'text', text: 'Address of its API', example: 'the address, with https', help: 'Empty: the tool’s usual one; Zoho has one for each data centre, such as that of www.zohoapis.eu. EmailBison has one for each instance. With another address give the access token again.', shown: hasApi },
      { name: 'api_user', as: 'text', text: 'User of the access token', example: 'ops@example.com', help: 'Copper: the email address of the token’s owner; Acuity and Bitrix24: the user’s id.', shown: of('acuity', 'bitrix24', 'copper') },
      { name: 'written_property', as: 'text', text: 'Property that statuses are written to', example: 'touchbase_status', help: 'Its internal name, of contacts. An endpoint of the kind HubSpot writes it.', shown: of('hubspot') },
    ],
  },
  {
    name: 'Proof of the sender',
    usual: false,
    rows: [
      { name: 'location_id', as: 'text', text: 'The only location that is accepted', help: 'Needed with GoHighLevel’s public key, which all of its customers share.', shown: of('gohighlevel') },
      { name: 'signature_max_age', as: 'number', text: 'Greatest age of a signature, in seconds', help: '60 or more. Empty: the tool’s own window.', shown: (channel, tool) => TIMED[channel].includes(tool) },
      { name: 'allow_v1_signatures', as: 'check', text: 'Accept HubSpot’s signatures of version 1', help: 'They cover neither the address nor a time.', shown: of('hubspot') },
    ],
  },
];

export function rowsOf(channel: Channel, tool: string): SettingRow[] {
  return GROUPS.flatMap((group) => group.rows).filter((each) => each.shown(channel, tool));
}

export const NO_SETTINGS: ConnectionSettings = {
  status_property: {}, status_labels: {}, objects: {}, create_unknown: null, linkedin_reply_counts: null, unknown_bounces: null, deals_set_status: false, deal_labels: {}, time_zone: null,
  fields: {}, events: {}, api_base: null, api_user: null, location_id: null, allow_v1_signatures: false, signature_max_age: null, written_property: null, silence_alarm: true,
};

type Value = ConnectionSettings[SettingName];

/** A value without the white space around its texts; texts of which nothing is left are none. */
function trimmed(value: Value): Value {
  if (typeof value === 'string') return value.trim() || null;
  if (typeof value !== 'object' || value === null) return value;
  const pairs = Object.entries(value).map(([name, each]) => [name.trim(), each === null ? null : each.trim()] as const);
  return Object.fromEntries(pairs.filter(([name, each]) => name && each !== ''));
}

/** The settings that differ, of those that the form shows. */
export function changes(now: ConnectionSettings, before: ConnectionSettings, channel: Channel, tool: string): Partial<ConnectionSettings> {
  const names = rowsOf(channel, tool).map((each) => each.name).filter((name) => name !== 'status_labels');
  const found = names.map((name) => [name, trimmed(now[name])] as const);
  return Object.fromEntries(found.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));
}
