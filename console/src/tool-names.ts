/** The tools' own names, by the words of the API. */
export const CAMPAIGN: Record<string, string> = {
  amplemarket: 'Amplemarket', brevo: 'Brevo', emailbison: 'EmailBison', generic: 'Another campaign tool', heyreach: 'HeyReach',
  instantly: 'Instantly', lemlist: 'lemlist', mailchimp: 'Mailchimp', mailersend: 'MailerSend', mailgun: 'Mailgun', mailjet: 'Mailjet',
  mailshake: 'Mailshake', mandrill: 'Mandrill (Mailchimp Transactional)', outboundry: 'Outboundry', outlix: 'Outlix', outreach: 'Outreach',
  plusvibe: 'PlusVibe (was Pipl.ai)', postmark: 'Postmark', reachinbox: 'ReachInbox', reply_io: 'Reply.io', replyify: 'Replyify', resend: 'Resend',
  salesforge: 'Salesforge', saleshandy: 'Saleshandy', salesloft: 'Salesloft', sendgrid: 'SendGrid', sendpilot: 'SendPilot', smartlead: 'Smartlead',
  snov_io: 'Snov.io', sparkpost: 'SparkPost', woodpecker: 'Woodpecker', aimfox: 'Aimfox', amazon_ses: 'Amazon SES', cal_com: 'Cal.com',
  calendly: 'Calendly', chili_piper: 'Chili Piper', customer_io: 'Customer.io', dripify: 'Dripify', encharge: 'Encharge', expandi: 'Expandi',
  gmass: 'GMass', iterable: 'Iterable', kit: 'Kit', klaviyo: 'Klaviyo', loops: 'Loops', mailerlite: 'MailerLite', mailtrap: 'Mailtrap',
  mautic: 'Mautic', postal: 'Postal', quickmail: 'QuickMail', savvycal: 'SavvyCal', unipile: 'Unipile', unisender_go: 'UniSender Go',
};
export const CRM: Record<string, string> = {
  activecampaign: 'ActiveCampaign', affinity: 'Affinity', attio: 'Attio', capsule: 'Capsule', close: 'Close', copper: 'Copper',
  dynamics365: 'Dynamics 365', espocrm: 'EspoCRM', folk: 'folk', frappe: 'Frappe CRM and ERPNext', generic: 'Another CRM',
  gohighlevel: 'GoHighLevel', hubspot: 'HubSpot', insightly: 'Insightly', intercom: 'Intercom', kommo: 'Kommo', monday: 'monday.com', odoo: 'Odoo',
  outreach: 'Outreach', pipedrive: 'Pipedrive', salesforce: 'Salesforce', streak: 'Streak', twenty: 'Twenty', zoho: 'Zoho CRM',
  acuity: 'Acuity', bitrix24: 'Bitrix24', chatwoot: 'Chatwoot', dolibarr: 'Dolibarr', fillout: 'Fillout', follow_up_boss: 'Follow Up Boss',
  jotform: 'Jotform', keap: 'Keap', shopify: 'Shopify', tally: 'Tally', typeform: 'Typeform', webflow: 'Webflow', woocommerce: 'WooCommerce',
  airtable: 'Airtable', freshsales: 'Freshsales', notion: 'Notion', suitecrm: 'SuiteCRM', vtiger: 'Vtiger', zendesk_sell: 'Zendesk Sell',
  baserow: 'Baserow', google_sheets: 'Google Sheets', grist: 'Grist', nocodb: 'NocoDB',
};
