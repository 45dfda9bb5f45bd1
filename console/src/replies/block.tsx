/** Block the contact of a conversation: the list, the status and its replies in one act. */
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { call, Problem } from '../api';
import { readAgain } from '../data';
import { BECAUSE } from '../grid/reasons';
import type { Schemas } from '../types';
import { Confirm, Field } from '../ui/confirm';
import { toast } from '../ui/toast';
import { capital, plural } from '../words';
import { bulk, keyOf, LIST, named, nameOf, readConversationsAgain, type Conversation } from './conversations';

/** The conversations whose contacts are about to be blocked. */
export const blocking = signal<readonly Conversation[] | null>(null);

/** Block contacts: the do-not-contact list and the status in one act; their replies are done. The message takes all of it back. */
export function BlockDialog({ conversations, onBlocked }: { conversations: readonly Conversation[]; onBlocked: () => void }) {
  const [company, setCompany] = useState(false);
  const [reason, setReason] = useState<NonNullable<Schemas['BlockContact']['reason']>>('requested');
  const [note, setNote] = useState('');
  const [only] = conversations;
  const name = conversations.length === 1 && only ? nameOf(only) : plural(conversations.length, 'person', 'people');
  const again = () => void Promise.all([readConversationsAgain(), readAgain('/public/v2/suppressions', '/public/v2/contacts')]);
  const send = async (of: readonly Conversation[], block: Schemas['BlockContact'] | null) => (await call<Schemas['ChangedConversations']>('POST', `${LIST}/block`, { body: { conversations: named(of), block } })).data.data;
  async function run() {
    const rows = await send(conversations, { company, reason, note });
    const blocked = rows.flatMap(({ conversation }) => conversation ?? []);
    const failed = rows.find(({ error }) => error !== null)?.error;
    if (failed && !blocked.length) throw new Problem(422, 'not_blocked', failed);
    again();
    onBlocked();
    const isOld = blocked.some(({ state }) => state !== 'done');
    const stay = rows.length - blocked.length;
    toast(`${stay ? `${blocked.length} of ${name}` : name}: blocked.${isOld ? ' Another reply came in: look at it, then press Done.' : ''}${stay ? ` ${stay} not: ${failed}.` : ''}`, {
      undo: async () => {
        const back = await send(blocked, null);
        const wasOpen = new Set(conversations.filter(({ state }) => state !== 'done').map(keyOf));
        const reopened = blocked.filter((each) => each.state === 'done' && wasOpen.has(keyOf(each)));
        if (reopened.length) await bulk(reopened, { state: 'open' });
        again();
        const kept = back.filter(({ error }) => error !== null);
        if (kept[0]) throw new Problem(409, 'not_undone', `${plural(kept.length, 'block')} not taken back: ${kept[0].error}`);
      },
    });
  }
  return (
    <Confirm title={`Block ${name}`} action="Block" danger run={run} onClose={() => (blocking.value = null)}>
      <p>The do-not-contact list and the status say so, and no campaign should write again.</p>
      <fieldset class="choices">
        <legend>What is blocked</legend>
        <label>
          <input type="radio" name="what" autofocus checked={!company} onChange={() => setCompany(false)} /> {conversations.length === 1 ? 'This person' : 'These people'}
        </label>
        <label>
          <input type="radio" name="what" checked={company} onChange={() => setCompany(true)} /> {conversations.length === 1 ? 'Everybody at the company' : 'Everybody at their companies'}
        </label>
      </fieldset>
      <Field label="Reason">
        <select value={reason} onChange={(event) => setReason(event.currentTarget.value as typeof reason)}>
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

