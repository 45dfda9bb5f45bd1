/** What each tool's page in the docs says: its name, where the address goes, what to switch on, and what its secret is. */
import { CAMPAIGN, CRM } from '../tool-names';
import type { Channel } from './types';

export const TOOLS: Record<Channel, Record<string, string>> = { email_campaign: CAMPAIGN, crm: CRM };
export const CHANNELS: readonly Channel[] = ['email_campaign', 'crm'];
export const CHANNEL_NAMES: Record<Channel, string> = { email_campaign: 'Campaign tools', crm: 'CRMs' };

export function nameOf(channel: string, tool: string | null): string {
  if (tool === null) return 'an unknown tool';
  const [own, other] = channel === 'crm' ? [CRM, CAMPAIGN] : [CAMPAIGN, CRM];
  return own[tool] ?? other[tool] ?? tool;
}

export interface Guide {
  /** Where the tool has its field for the address. */
  where: string;
  /** Which events to switch on there. */
  events: string;
  /** What the address needs at its end. */
  query?: string;
}

const GUIDES: Record<Channel, Record<string, Guide>> = {
  email_campaign: {
    smartlead: {
      where: 'Settings, Webhooks (all campaigns), or a campaign’s own settings.',
      events: 'EMAIL_SENT, EMAIL_REPLY, EMAIL_BOUNCE, LEAD_UNSUBSCRIBED, LEAD_CATEGORY_UPDATED; opens and clicks if you want them listed.',
    },
    instantly: {
      where: 'Settings, Integrations, Webhooks: add a webhook with this address.',
      events: '“All events” is fine; at the least sent, reply received, bounced, unsubscribed and the lead labels.',
    },
    emailbison: {
      where: 'Settings, Webhooks in your workspace.',
      events: 'Email sent, replied, bounced, unsubscribed, interested; untracked replies if you want them.',
    },
    heyreach: { where: 'Integrations, Webhooks.', events: 'Message reply received, connection request accepted, and what else you want listed.' },
    lemlist: {
      where: 'Settings, Integrations, Webhooks.',
      events: 'emailsSent, emailsReplied, emailsBounced, emailsUnsubscribed, the interest ones, and LinkedIn’s if you use it. The state groups are not needed.',
    },
    reply_io: { where: 'Settings, Integrations, Webhooks; or a webhook step of a sequence.', events: 'Sent, replied, bounced, opted out, spam reported, meetings.' },
    woodpecker: { where: 'Marketplace, Integrations, Webhooks.', events: 'campaign_sent, prospect_replied, prospect_bounced, prospect_opt_out, prospect_interested and its sisters.' },
    generic: {
      where: 'The webhook’s address in your tool or relay (Zapier, Make, n8n). JSON is best; forms are read too.',
      events:
        'If you compose the body: {"event": "email_replied", "email": "…", "timestamp": "…", "campaign_name": "…"}. A tool that names no event: add ?event=unsubscribed to the address.',
    },
  },
  crm: {
    hubspot: {
      where: 'Settings, Integrations, Private apps: open your app, go to its tab Webhooks and paste the address as target URL. Without an app: a workflow’s action “Send a webhook”, method POST.',
      events: 'Creation, deletion, merge and restore of contacts and companies, and changes of email, firstname, lastname, lifecyclestage, hs_lead_status; of companies domain, name, lifecyclestage.',
    },
    pipedrive: {
      where: 'Settings, Tools and apps, Webhooks: Create new webhook, and paste the address. Choose version 2 if you are asked.',
      events: 'Event action *, event object person; then the same once more for organization.',
    },
    attio: {
      where: 'Workspace settings, Developers: open your integration and New webhook. Make two, one filtered to People and one to Companies; the second ends in ?object=companies.',
      events: 'Record created, updated, merged, deleted.',
      query: '?object=people',
    },
    close: {
      where: 'Settings, Developer, Webhooks: Create, and paste the address.',
      events: 'lead created, updated, deleted, merged; contact created, updated, deleted; activity.lead_status_change created.',
    },
    salesforce: {
      where: 'Setup, Outbound Messages: New, for the object Contact; paste the address as endpoint; leave Send Session ID off. The same for Lead and Account.',
      events: 'Select Id, Email, FirstName, LastName, CreatedDate, LastModifiedDate, IsDeleted; then a record-triggered flow that sends the message on creation and update.',
    },
    zoho: {
      where: 'By its API: POST /crm/v7/actions/watch with the address as notify_url, and return_affected_field_values true. A channel expires unless a script renews it.',
      events: 'Leads.all, Contacts.all, Accounts.all.',
    },
    odoo: {
      where: 'Settings, Technical, Automation Rules: a rule on Contact, On create and update, with the action Send Webhook Notification and the address as its URL.',
      events: 'Fields: Name, Email, Is a Company, Related Company, Website, Last Updated on, Active, and any others, which become custom fields.',
    },
    generic: {
      where: 'Let the CRM or relay (Zapier, Make, n8n) POST JSON or form fields to the address.',
      events:
        'Best: {"event": "contact.updated", "id": "42", "email": "…", "first_name": "…", "contact_status": "…"}. If you cannot change the body, add ?event=contact.updated to the address.',
    },
  },
};

const OTHER: Guide = {
  where: 'Look for “webhooks” in the tool’s settings. Its page in the docs (docs/reference/tools.md links it) says where, and which events to tick.',
  events: 'Sent, replied, bounced, unsubscribed and status changes of a campaign tool; contacts and companies created, updated and deleted of a CRM.',
};

export function guideOf(channel: Channel, tool: string): Guide {
  return GUIDES[channel][tool] ?? OTHER;
}

/** What the secret of a tool’s connection is, for tools with a proof of their own. */
const SECRETS: Record<Channel, Record<string, string>> = {
  email_campaign: {
    amazon_ses: 'the topic’s ARN, and below it the certificate at the message’s SigningCertURL; or a token in the address',
    cal_com: 'the webhook’s secret',
    calendly: 'the subscription’s signing_key',
    customer_io: 'the webhook’s signing key',
    klaviyo: 'the webhook’s secret_key',
    lemlist: 'the webhook’s secret, which lemlist sends in the body',
    loops: 'whsec_…',
    mailerlite: 'the webhook’s secret',
    mailersend: 'the webhook’s signing secret',
    mailgun: 'the webhook signing key',
    mailtrap: 'the webhook’s signature key',
    mandrill: 'the webhook’s key',
    mautic: 'the webhook’s secret',
    outlix: 'the webhook’s secret',
    outreach: 'the webhook’s secret',
    postal: 'the server’s public key',
    replyify: 'the webhook’s secret',
    resend: 'the webhook’s secret, whsec_…',
    salesloft: 'the subscription’s callback_token',
    savvycal: 'the webhook’s secret',
    sendgrid: 'the public key on the webhook’s page',
    sendpilot: 'the webhook’s secret',
    smartlead: 'the webhook’s secret, which the dashboard’s test webhook does not know; or the signing secret',
    unipile: 'the endpoint’s secret (v2), or the value of a header of yours',
    unisender_go: 'the API key',
  },
  crm: {
    acuity: 'the API key',
    attio: 'the webhook’s secret',
    bitrix24: 'the application token',
    chatwoot: 'the webhook’s secret',
    close: 'the webhook’s signature key, in hex as it is shown',
    copper: 'the value of the webhook’s own secret',
    espocrm: 'the webhook’s secret key; up to 50, one for each webhook, as KEY or ID:KEY',
    folk: 'whsec_…',
    follow_up_boss: 'the system key',
    frappe: 'the webhook’s secret',
    gohighlevel: 'the vendor’s public key; name your location too, below under “Proof of the sender”',
    hubspot: 'the app’s client secret',
    intercom: 'the app’s client secret',
    monday: 'the app’s signing secret',
    outreach: 'the webhook’s secret',
    shopify: 'the secret below the list of webhooks',
    tally: 'the webhook’s signing secret',
    twenty: 'the webhook’s secret',
    typeform: 'the webhook’s secret',
    webflow: 'the client secret of the app that made the webhook',
    woocommerce: 'the webhook’s secret',
    zoho: 'the channel’s token',
  },
};

/** What the secret is; null: the tool signs nothing, and a generated one goes into the address. */
export function secretOf(channel: Channel, tool: string): string | null {
  return SECRETS[channel][tool] ?? null;
}
