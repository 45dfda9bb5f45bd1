/** People whom a CRM asked to erase: each waits in the bin until a person erases or restores it. */
import { useState } from 'preact/hooks';
import { call } from '../api';
import { usePages } from '../data';
import type { Contact } from '../types';
import { Button, ProblemNote, Time } from '../ui/basic';
import { toast, toastProblem } from '../ui/toast';
import { personName } from '../words';
import { showsAll } from '../session';
import { asClient, ClientChip } from '../ui/client-chip';
import { removedText, type Erased } from './types';

interface ErasureAsked extends Contact {
  erasure_requested_at: string;
  /** Where all clients are shown. */
  client_id?: string;
}

const WAITING = { erasure_requested: 'true', structure: 'FLAT', limit: '20' };

export function ErasureRequests({ decided }: { decided: () => void }) {
  const { data, error, hasMore, more, refetch } = usePages<ErasureAsked>(showsAll.value ? '/team/v1/contacts/deleted' : '/public/v2/contacts/deleted', WAITING);
  if (error) return <ProblemNote problem={error} retry={refetch} />;
  if (!data?.length) return null;
  return (
    <section aria-labelledby="requests">
      <h2 id="requests">Requests from CRMs</h2>
      <ol class="requests">
        {data.map((each) => (
          <Request
            key={`${each.client_id} ${each.id}`}
            contact={each}
            decided={() => {
              refetch();
              decided();
            }}
          />
        ))}
      </ol>
      {hasMore && <Button onClick={more}>Show more</Button>}
    </section>
  );
}

function Request({ contact, decided }: { contact: ErasureAsked; decided: () => void }) {
  const of = asClient(contact.client_id);
  const [sure, setSure] = useState(false);
  const [busy, setBusy] = useState(false);
  async function decide(work: () => Promise<string>) {
    setBusy(true);
    try {
      toast(await work());
      decided();
    } catch (error) {
      toastProblem(error);
      setBusy(false);
    }
  }
  async function erase(): Promise<string> {
    const erased = (await call<Erased>('DELETE', `/public/v2/contacts/${contact.id}`, { ...of, query: { erase: 'true' } })).data;
    return `The person is erased: ${removedText(erased.removed)}.`;
  }
  async function restore(): Promise<string> {
    await call('POST', `/public/v2/contacts/${contact.id}/restore`, of);
    return 'The request is declined, and the contact restored.';
  }
  return (
    <li>
      <span class="strong cut" dir="auto">{personName(contact)} <ClientChip of={contact.client_id} /></span>
      <span class="removed cut">{contact.email ?? contact.linkedin_url ?? `id ${contact.id}`}</span>
      <span class="faint">
        asked <Time at={contact.erasure_requested_at} as="ago" />
      </span>
      {sure ? (
        <Button kind="danger" icon="erase" busy={busy} onClick={() => void decide(erase)}>
          Erase permanently
        </Button>
      ) : (
        <Button icon="erase" onClick={() => setSure(true)}>
          Erase…
        </Button>
      )}
      <Button busy={busy} onClick={() => void decide(restore)}>
        Restore
      </Button>
    </li>
  );
}
