/** Make a key, or its successor; its text is shown once. */
import { useState } from 'preact/hooks';
import { call as send } from '../api';
import { choosesClient, clients, session } from '../session';
import { Confirm, Field, ShownOnce } from '../ui/confirm';
import { Dialog } from '../ui/overlay';
import { SCOPES, type Key, type MadeKey } from './types';

const DAY = 86_400_000;
const ENDS: readonly (readonly [string, string])[] = [
  ['', 'Never'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
];

interface DoneProps {
  onClose: () => void;
  onDone: () => void;
}

function Shown({ made, onClose }: { made: MadeKey; onClose: () => void }) {
  return (
    <Dialog title={made.name || 'The new key'} onClose={onClose}>
      {made.key && (
        <ShownOnce text={made.key} of="key">
          <p>
            Send it as <code>Authorization: Bearer …</code>. The store has only a digest of it.
          </p>
        </ShownOnce>
      )}
    </Dialog>
  );
}

/** `personal`: the key acts as the person who makes it. */
export function NewKey({ client, personal = false, onClose, onDone }: DoneProps & { client: string; personal?: boolean }) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly string[]>(personal ? ['records:read'] : ['records:read', 'records:write']);
  const [of, setOf] = useState(client);
  const [ends, setEnds] = useState('');
  const [made, setMade] = useState<MadeKey | null>(null);
  const own = session.value?.scopes ?? [];

  async function run() {
    const expires = ends && new Date(Date.now() + Number(ends) * DAY).toISOString();
    const body = { name: name.trim(), scopes, ...(of && { client_id: of }), ...(expires && { expires_time: expires }) };
    setMade((await send<MadeKey>('POST', personal ? '/team/v1/keys' : '/admin/v1/keys', { body })).data);
    onDone();
    return false;
  }

  if (made) return <Shown made={made} onClose={onClose} />;
  return (
    <Confirm title={personal ? 'New personal key' : 'New key'} action="Create key" disabled={!name.trim() || !scopes.length} onClose={onClose} run={run}>
      {personal && <p>It acts as you: with no more than you choose here, and never with more than you may do yourself.</p>}
      <Field label="Name" help={personal ? 'What it is for.' : 'The program or person that uses it.'}>
        <input type="text" autofocus value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      {choosesClient.value && (
        <Field label="Client" help={of || personal ? undefined : 'With “admin” it also makes, suspends and deletes clients.'}>
          <select value={of} onChange={(event) => setOf(event.currentTarget.value)}>
            <option value="">{personal ? 'All my clients' : 'All clients'}</option>
            {clients.value.map((each) => (
              <option key={each.client_id} value={each.client_id}>
                {each.name || each.client_id}
              </option>
            ))}
          </select>
        </Field>
      )}
      <fieldset>
        <legend>It permits</legend>
        {SCOPES.filter(([scope]) => own.includes(scope)).map(([scope, short, about]) => (
          <label key={scope} class="check">
            <input
              type="checkbox"
              checked={scopes.includes(scope)}
              onChange={(event) => setScopes(event.currentTarget.checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))}
            />
            <span>
              <b>{short}</b> <code>{scope}</code> <span class="faint">{about}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <Field label="It ends">
        <select value={ends} onChange={(event) => setEnds(event.currentTarget.value)}>
          {ENDS.map(([days, text]) => (
            <option key={days} value={days}>
              {text}
            </option>
          ))}
        </select>
      </Field>
    </Confirm>
  );
}

const OVERLAPS: readonly (readonly [string, string])[] = [
  ['604800', '7 days'],
  ['86400', '1 day'],
  ['3600', '1 hour'],
  ['0', 'no time: it ends at once'],
];

export function Rotate({ of, onClose, onDone }: DoneProps & { of: Key }) {
  const [seconds, setSeconds] = useState('86400');
  const [made, setMade] = useState<MadeKey | null>(null);

  async function run() {
    setMade((await send<MadeKey>('POST', `/admin/v1/keys/${of.key_id}/rotate`, { body: { keep_old_seconds: Number(seconds) } })).data);
    onDone();
    return false;
  }

  if (made) return <Shown made={made} onClose={onClose} />;
  return (
    <Confirm title={`Rotate ${of.name}`} action="Create successor" onClose={onClose} run={run}>
      <p>It gets a successor with the same client, scopes and name. Put the successor into the program while the old key still works.</p>
      <Field label="The old key stays valid for">
        <select value={seconds} onChange={(event) => setSeconds(event.currentTarget.value)}>
          {OVERLAPS.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </Field>
    </Confirm>
  );
}
