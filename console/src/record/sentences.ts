/** Events as sentences. */
import { words } from '../words';

const SENTENCES: Record<string, string> = {
  email_sent: 'Email sent',
  email_delivered: 'Email delivered',
  email_opened: 'Email opened',
  email_clicked: 'Link clicked',
  email_replied: 'Replied',
  email_auto_replied: 'Automatic reply',
  email_bounced: 'Email bounced',
  email_unsubscribed: 'Unsubscribed',
  unsubscribed: 'Unsubscribed',
  spam_complaint: 'Spam complaint',
  linkedin_replied: 'Replied on LinkedIn',
  linkedin_sent: 'LinkedIn message sent',
  meeting_booked: 'Meeting booked',
  meeting_canceled: 'Meeting canceled',
  meeting_rescheduled: 'Meeting moved',
  meeting_no_show: 'Meeting missed',
  'company.created': 'Company created',
  'company.updated': 'Company changed',
  'company.deleted': 'Company deleted',
  'company.merged': 'Companies merged',
  'contact.created': 'Contact created',
  'contact.updated': 'Contact changed',
  'contact.deleted': 'Contact deleted',
  'contact.merged': 'Contacts merged',
  'contact.noted': 'Note',
  'company.noted': 'Note',
  'contact.tasked': 'Task',
  'company.tasked': 'Task',
};

export function sentence(event: string): string {
  return SENTENCES[event] ?? words(event);
}
