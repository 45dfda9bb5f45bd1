/** Events as sentences. */
import { words } from '../words';

const SENTENCES: Record<string, string> = {
  email_sent: 'A mail was sent',
  email_delivered: 'A mail was delivered',
  email_opened: 'A mail was opened',
  email_clicked: 'A link in a mail was clicked',
  email_replied: 'They replied',
  email_auto_replied: 'An automatic reply came',
  email_bounced: 'A mail bounced',
  email_unsubscribed: 'They unsubscribed',
  unsubscribed: 'They unsubscribed',
  spam_complaint: 'They complained about spam',
  linkedin_replied: 'They replied on LinkedIn',
  linkedin_sent: 'A LinkedIn message was sent',
  meeting_booked: 'They booked a meeting',
  meeting_canceled: 'A meeting was canceled',
  meeting_rescheduled: 'A meeting was moved',
  meeting_no_show: 'They missed a meeting',
  'company.created': 'The company was created',
  'company.updated': 'The company was changed',
  'company.deleted': 'The company was deleted',
  'contact.created': 'The contact was created',
  'contact.updated': 'The contact was changed',
  'contact.deleted': 'The contact was deleted',
};

export function sentence(event: string): string {
  return SENTENCES[event] ?? words(event);
}
