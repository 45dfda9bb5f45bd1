/** Block the contact of a conversation: the list, the status and its replies in one act. */
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { call, Problem } from '../api';
import { readAgain } from '../data';
import { BECAUSE } from '../grid/reasons';
import type { Schemas } from '../types';
import { Confirm, Field } from '../ui/confirm';
import { toast } from '../ui/toast';
import { capital } from '../words';
import { nameOf, pathOf, readConversationsAgain, type Conversation } from './conversations';

/** The conversation whose contact is about to be blocked. */
export const blocking = signal<Conversation | null>(null);

/** Block a contact: the do-not-contact list and the status in one act; its replies are done. The message takes all of it back. */
export function BlockDialog({ conversation }: { conversation: Conversation }) {
  const [company, setCompany] = useState(false);
  const [reason, setReason] = useState('requested');
  const [note, setNote] = useState('');
  const name = nameOf(conversation);
  const path = `/public/v2/contacts/${conversation.contact.id}/block`;
  const headers = { 'x-client-id': conversation.client_id };
  const again = () => void Promise.all([readConversationsAgain(), readAgain('/public/v2/suppressions', '/public/v2/contacts')]);
  async function run() {
    await call<Schemas['Blocked']>('POST', path, { body: { company, reason, note }, headers });
    const set = async (state: 'done' | 'open', version: string) => (await call<Conversation>('PATCH', pathOf(conversation), { body: { state }, headers: { 'if-match': `"${version}"` } })).data.version;
    let version: string | null = null;
    let isOld = false;
    try {
      if (conversation.state !== 'done') version = await set('done', conversation.version);
    } catch (error) {
      if (!(error instanceof Problem && error.status === 412)) throw error;
      isOld = true;
    }
    again();
    toast(isOld ? `${name}: blocked. Another reply came in: look at it, then press Done.` : `${name}: blocked.`, {
      undo: async () => {
        await call('DELETE', path, { headers });
        if (version !== null) await set('open', version);
        again();
      },
    });
  }
  return (
    <Confirm title={`Block ${name}`} action="Block" danger run={run} onClose={() => (blocking.value = null)}>
      <p>The do-not-contact list and the status say so, and no campaign should write again.</p>
      <fieldset class="choices">
        <legend>What is blocked</legend>
        <label>
          <input type="radio" name="what" autofocus checked={!company} onChange={() => setCompany(false)} /> This person
        </label>
        <label>
          <input type="radio" name="what" checked={company} onChange={() => setCompany(true)} /> Everybody at the company
        </label>
      </fieldset>
      <Field label="Reason">
        <select value={reason} onChange={(event) => setReason(event.currentTarget.value)}>
          {Object.entries(BECAUSE).map(([key, text]) => (
            <option key={key} value={key}>
              {capital(text)}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Note" help="For your team; no personal data.">
        <input type="text" maxLength={1000} value={note} onInput={(event) => setNote(event.currentTarget.value)} />
      </Field>
    </Confirm>
  );
}

