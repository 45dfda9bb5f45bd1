/** Sample calls: what a tool sends about one person, as short as its adapter recognises it. All addresses end in `.example`. */
import type { Channel } from './types';

type Sample = (email: string, at: string) => unknown;

const CAMPAIGN = 'Sample of the console';
const MAILBOX = 'mailbox@touchbase.example';
const TEXT = 'This is a sample reply.';

const SAMPLES: Record<Channel, Record<string, Sample>> = {
  email_campaign: {
    smartlead: (email, at) => ({
      event_type: 'EMAIL_REPLY', sl_email_lead_id: 1, sl_lead_email: email, stats_id: email, from_email: MAILBOX, to_email: email, campaign_id: 1,
      campaign_name: CAMPAIGN, event_timestamp: at, reply_message: { message_id: `<${email}>`, text: TEXT, time: at },
    }),
    instantly: (email, at) => ({
      timestamp: at, event_type: 'reply_received', workspace: 'sample', campaign_id: 'sample', campaign_name: CAMPAIGN, lead_email: email,
      email_account: MAILBOX, email_id: email, reply_text: TEXT,
    }),
    emailbison: (email, at) => ({
      event: { type: 'LEAD_REPLIED', name: 'Lead Replied', workspace_id: 1 },
      data: {
        reply: { id: 1, email_subject: 'Re: sample', text_body: TEXT, raw_message_id: `<${email}>`, from_email_address: email, date_received: at, automated_reply: false },
        lead: { id: 1, email }, campaign: { id: 1, name: CAMPAIGN },
      },
    }),
    heyreach: (email, at) => ({
      event_type: 'MESSAGE_REPLY_RECEIVED', correlation_id: email, connection_message: 'Hello', timestamp: at, campaign: { id: 1, name: CAMPAIGN },
      sender: { id: 1, email_address: MAILBOX, profile_url: 'www.linkedin.com/in/sample-sender' },
      lead: { profile_url: `www.linkedin.com/in/${email.split('@')[0]}`, full_name: 'Sample Person', email_address: email },
    }),
    lemlist: (email, at) => ({
      _id: `act_${email}`, type: 'emailsReplied', createdAt: at, leadEmail: email, campaignId: 'cam_sample', campaignName: CAMPAIGN, sendUserEmail: MAILBOX,
      subject: 'Re: sample', text: TEXT,
    }),
    reply_io: (email, at) => ({
      event: { date: at, id: email, type: 'email_replied', user_id: 1, team_id: 1, subscription_id: 1 },
      contact_fields: { id: 1, email, first_name: 'Sample', last_name: 'Person' }, sequence_fields: { id: 1, name: CAMPAIGN },
    }),
    woodpecker: (email, at) => [
      {
        method: 'prospect_replied', prospect: { id: 1, email, first_name: 'Sample', campaign_id: 1, campaign_name: CAMPAIGN, campaign_email: MAILBOX, step: 1 },
        email: { id: 1, subject: 'Re: sample', sender: 'Sample Person', email, date: at, message: `<p>${TEXT}</p>` }, timestamp: at, firm_id: 1,
      },
    ],
    generic: (email, at) => ({ event: 'email_replied', email, timestamp: at, campaign_name: CAMPAIGN, reply_text: TEXT }),
  },
  crm: {
    hubspot: (email) => ({ hs_object_id: idOf(email), email, firstname: 'Sample', lastname: 'Person', hs_lead_status: 'OPEN' }),
    pipedrive: (email, at) => ({
      data: { id: idOf(email), name: 'Sample Person', first_name: 'Sample', last_name: 'Person', emails: [{ value: email, primary: true }], add_time: at, custom_fields: {} },
      previous: null,
      meta: { action: 'create', entity: 'person', entity_id: String(idOf(email)), company_id: '1', id: email, timestamp: at, version: '2.0', host: 'sample.pipedrive.com' },
    }),
    attio: (email) => ({
      record: {
        id: { workspace_id: 'sample', object_id: 'sample', record_id: email },
        values: { email_addresses: [{ email_address: email }], name: [{ first_name: 'Sample', last_name: 'Person', full_name: 'Sample Person', attribute_type: 'personal-name' }] },
      },
    }),
    close: (email, at) => ({
      event: {
        id: `ev_${email}`, date_created: at, date_updated: at, organization_id: 'orga_sample', object_type: 'contact', action: 'created', object_id: `cont_${idOf(email)}`,
        changed_fields: [], previous_data: {}, data: { id: `cont_${idOf(email)}`, name: 'Sample Person', emails: [{ email, type: 'office' }] },
      },
      subscription_id: 'whsub_sample',
    }),
    salesforce: (email, at) => ({
      attributes: { type: 'Contact', url: '/services/data/v60.0/sobjects/Contact/sample' }, Id: `003${String(idOf(email)).padStart(12, '0')}AAA`, Email: email,
      FirstName: 'Sample', LastName: 'Person', LastModifiedDate: at,
    }),
    generic: (email, at) => ({ event: 'contact.updated', id: String(idOf(email)), email, first_name: 'Sample', last_name: 'Person', timestamp: at }),
  },
};

/** A number of the tool for the sample's person, the same for the same address. */
function idOf(email: string): number {
  let sum = 0;
  for (const letter of email) sum = (sum * 31 + letter.charCodeAt(0)) % 1_000_003;
  return 900_000_000 + sum;
}

export function hasSample(channel: Channel, tool: string): boolean {
  return SAMPLES[channel][tool] !== undefined;
}

export interface MadeSample {
  email: string;
  body: unknown;
}

/** A new sample about a person that no other call is about; of another tool, what the generic adapter reads. */
export function sampleOf(channel: Channel, tool: string): MadeSample {
  const email = `sample-${crypto.getRandomValues(new Uint32Array(1))[0]?.toString(36)}@touchbase.example`;
  const make = SAMPLES[channel][tool] ?? SAMPLES[channel]['generic'];
  return { email, body: make?.(email, new Date().toISOString()) };
}
