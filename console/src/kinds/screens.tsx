/** The lists of contacts and of companies, and what they say while they are empty. */
import { webhookAddress } from '../clients/requests';
import { Records } from '../grid/screen';
import { client, href } from '../route';
import { canWrite, clients, session } from '../session';
import { Empty } from '../ui/basic';
import { CopyLine } from '../ui/confirm';
import { COMPANIES } from './company';
import { CONTACTS } from './contact';

export function Contacts() {
  return <Records kind={CONTACTS} none={<NoContacts />} />;
}

export function Companies() {
  return <Records kind={COMPANIES} none={<NoCompanies />} />;
}

function nameOfClient(id: string): string {
  return clients.value.find((each) => each.client_id === id)?.name ?? '';
}

function NoContacts() {
  const id = client.value || session.value?.client_id || 'default';
  const name = nameOfClient(id);
  return (
    <Empty icon="contacts" title={name ? `${name} has no contacts yet` : 'No contacts yet'}>
      <p>Paste this address into your campaign tool as its webhook. The first email or reply that it reports makes the first contact.</p>
      <CopyLine text={webhookAddress(id, 'email_campaign')} of="address" />
      {canWrite.value && (
        <p class="faint">
          Or <a href={href('/imports')}>import a list</a>
        </p>
      )}
    </Empty>
  );
}

function NoCompanies() {
  const id = client.value || session.value?.client_id || 'default';
  const name = nameOfClient(id);
  return (
    <Empty icon="company" title={name ? `${name} has no companies yet` : 'No companies yet'}>
      <p>A company comes with a CRM’s webhook, with an import that has a column for its domain, or by a request. Contacts can be linked to the company of their email address by a setting of the client.</p>
      {canWrite.value && (
        <a class="button" href={href('/imports', { kind: 'companies' })}>
          Import a list of companies
        </a>
      )}
    </Empty>
  );
}
