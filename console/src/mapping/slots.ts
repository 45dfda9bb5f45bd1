/** What one can point at in a body: the fields of a connection of the tool `generic`. */
import type { Channel } from '../clients/types';

export interface Slot {
  name: string;
  text: string;
}

/** Begins the name of a custom field. */
export const CUSTOM = 'custom.';

const PERSON: readonly Slot[] = [
  { name: 'email', text: 'Email address' },
  { name: 'event', text: 'Event' },
  { name: 'occurred_at', text: 'Time' },
  { name: 'status', text: 'Status' },
];
const NAMES: readonly Slot[] = [
  { name: 'first_name', text: 'First name' },
  { name: 'last_name', text: 'Last name' },
  { name: 'name', text: 'Whole name' },
  { name: 'linkedin_url', text: 'LinkedIn address' },
];

const WORK: readonly Slot[] = [
  { name: 'company', text: 'Company' },
  { name: 'phone', text: 'Phone' },
  { name: 'title', text: 'Job title' },
];

export const SLOTS: Record<Channel, readonly Slot[]> = {
  email_campaign: [...PERSON, { name: 'campaign', text: 'Campaign' }, { name: 'campaign_id', text: 'Campaign’s id' }, ...NAMES, ...WORK],
  crm: [...PERSON, { name: 'id', text: 'Id of the record' }, { name: 'object_type', text: 'Kind of record' }, { name: 'domain', text: 'Domain' }, ...NAMES, ...WORK, { name: 'company_id', text: 'Company’s id' }],
};

/** What a CRM's event can mean. */
export const CRM_EVENTS: readonly (readonly [string, string])[] = [
  ['status', 'Set the status'],
  ['contact.updated', 'Update fields'],
  ['timeline', 'Timeline only'],
  ['ignored', 'Ignore'],
  ['contact.created', 'A contact was created'],
  ['contact.deleted', 'A contact was deleted'],
  ['company.created', 'A company was created'],
  ['company.updated', 'A company changed'],
  ['company.deleted', 'A company was deleted'],
  ['email_unsubscribed', 'The person unsubscribed'],
  ['email_resubscribed', 'The person subscribed again'],
  ['email_bounced', 'An email bounced'],
  ['email_preferences_changed', 'Topics of mail changed'],
  ['meeting_booked', 'A meeting was booked'],
  ['meeting_canceled', 'A meeting was canceled'],
  ['meeting_rescheduled', 'A meeting was moved'],
  ['meeting_no_show', 'The person missed a meeting'],
];

/** What a campaign tool's event can mean. */
export const EVENTS: readonly (readonly [string, string])[] = [
  ['email_sent', 'An email was sent'],
  ['email_delivered', 'An email was delivered'],
  ['email_opened', 'An email was opened'],
  ['email_clicked', 'A link was clicked'],
  ['email_replied', 'The person replied'],
  ['email_auto_replied', 'An automatic reply'],
  ['email_bounced', 'An email bounced'],
  ['email_unsubscribed', 'The person unsubscribed'],
  ['email_spam_complaint', 'A spam complaint'],
  ['manual_email_sent', 'An email by hand'],
  ['lead_status_changed', 'The status changed'],
  ['linkedin_sent', 'A LinkedIn message was sent'],
  ['linkedin_replied', 'A reply on LinkedIn'],
  ['linkedin_invite_sent', 'A LinkedIn invitation'],
  ['linkedin_invite_accepted', 'An invitation was accepted'],
  ['linkedin_other', 'Something else on LinkedIn'],
  ['meeting_booked', 'A meeting was booked'],
  ['meeting_canceled', 'A meeting was canceled'],
  ['meeting_rescheduled', 'A meeting was moved'],
  ['meeting_no_show', 'The person missed a meeting'],
  ['other', 'Nothing to us'],
];
