/** Rename, suspend, resume, rotate the id of, and delete a client, each after it was said what happens. */
import { useState } from 'preact/hooks';
import { call as send } from '../api';
import { client as chosen, go } from '../route';
import { choosesClient, refreshClients } from '../session';
import { Confirm, Field } from '../ui/confirm';
import { Entry, Popover } from '../ui/overlay';
import { toast } from '../ui/toast';
import { clientPath } from './requests';
import type { ClientDetail } from './types';

type Action = 'rename' | 'suspend' | 'resume' | 'rotate' | 'delete';
interface Props {
  of: ClientDetail;
  reload: () => void;
}

export function Manage({ of, reload }: Props) {
  const [action, setAction] = useState<Action | null>(null);
  const isOver = of.state === 'deleting';
  const entries: [Action, string, boolean][] = [
    ['rename', 'Rename…', true],
    [of.state === 'suspended' ? 'resume' : 'suspend', of.state === 'suspended' ? 'Resume…' : 'Suspend…', choosesClient.value],
    ['rotate', 'Give it a new id…', true],
    ['delete', 'Delete…', choosesClient.value],
  ];
  if (isOver) return null;
  return (
    <>
      <Popover text="Manage">
        {(close) => (
          <div class="entries">
            {entries.map(
              ([name, text, may]) =>
                may && (
                  <Entry
                    key={name}
                    onPick={() => {
                      close();
                      setAction(name);
                    }}
                  >
                    {text}
                  </Entry>
                ),
            )}
          </div>
        )}
      </Popover>
      {action === 'rename' && <Rename of={of} reload={reload} onClose={() => setAction(null)} />}
      {(action === 'suspend' || action === 'resume') && <Suspend of={of} reload={reload} resume={action === 'resume'} onClose={() => setAction(null)} />}
      {action === 'rotate' && <Rotate of={of} reload={reload} onClose={() => setAction(null)} />}
      {action === 'delete' && <Delete of={of} reload={reload} onClose={() => setAction(null)} />}
    </>
  );
}

type DialogProps = Props & { onClose: () => void };

function Rename({ of, reload, onClose }: DialogProps) {
  const [name, setName] = useState(of.name);
  async function run() {
    await send('PATCH', clientPath(of.client_id), { body: { name } });
    await refreshClients();
    reload();
    toast('The client is renamed.');
  }
  return (
    <Confirm title="Rename the client" action="Rename" onClose={onClose} run={run}>
      <Field label="Name" help="For people. Its id, and with it the webhook addresses, stay.">
        <input type="text" autofocus value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
    </Confirm>
  );
}

function Suspend({ of, reload, resume, onClose }: DialogProps & { resume: boolean }) {
  const verb = resume ? 'resume' : 'suspend';
  async function run() {
    await send('POST', clientPath(of.client_id, `/${verb}`));
    await refreshClients();
    reload();
    toast(resume ? 'The client is active again. What came in between is applied now.' : 'The client is suspended.');
  }
  return (
    <Confirm title={`${resume ? 'Resume' : 'Suspend'} ${of.name || of.client_id}?`} action={resume ? 'Resume' : 'Suspend'} danger={!resume} onClose={onClose} run={run}>
      <p>
        {resume
          ? 'Its keys work again, and the webhooks that were stored in the meantime are applied in the order of their times.'
          : 'Requests about its records get 403 until it is resumed, with every key. Its tools notice nothing: webhooks are stored, and applied when it is resumed. Nothing is lost.'}
      </p>
    </Confirm>
  );
}

const KEPT: readonly (readonly [string, string])[] = [
  ['604800', '7 days'],
  ['2592000', '30 days'],
  ['7776000', '90 days'],
  ['0', 'no time: it stops at once'],
];

function Rotate({ of, onClose }: DialogProps) {
  const [id, setId] = useState('');
  const [kept, setKept] = useState('604800');
  async function run() {
    const body = { keep_old_seconds: Number(kept), ...(id.trim() && { client_id: id.trim() }) };
    const made = (await send<ClientDetail>('POST', clientPath(of.client_id, '/rotate-id'), { body })).data;
    if (chosen.value === of.client_id) chosen.value = made.client_id;
    await refreshClients();
    toast('The client has a new id. Paste the new addresses into its tools.');
    go(`/clients/${made.client_id}`, {}, true);
  }
  return (
    <Confirm title="Give the client a new id" action="Give a new id" onClose={onClose} run={run}>
      <p>The id ends the webhook addresses, and suffices to send webhooks: create a new one when others know it. Records, connections and keys stay. Paste the new addresses into its tools while the old id is valid.</p>
      {choosesClient.value && (
        <Field label="New id" help="Empty: an unguessable one is generated.">
          <input type="text" spellcheck={false} autocomplete="off" value={id} onInput={(event) => setId(event.currentTarget.value)} />
        </Field>
      )}
      <Field label="The old id stays valid for">
        <select value={kept} onChange={(event) => setKept(event.currentTarget.value)}>
          {KEPT.map(([seconds, text]) => (
            <option key={seconds} value={seconds}>
              {text}
            </option>
          ))}
        </select>
      </Field>
    </Confirm>
  );
}

function Delete({ of, reload, onClose }: DialogProps) {
  const [typed, setTyped] = useState('');
  async function run() {
    await send('DELETE', clientPath(of.client_id), { query: { confirm: typed } });
    await refreshClients();
    toast('The client is closed, and its data are being removed.');
    reload();
  }
  return (
    <Confirm title={`Delete ${of.name || of.client_id} with all its data?`} action="Delete permanently" danger disabled={typed !== of.client_id} onClose={onClose} run={run}>
      <p>
        It is closed at once: its keys answer 401, its addresses 404. Then everything is removed: contacts, companies, custom fields, histories, webhooks with their bodies, connections, keys and
        settings. This cannot be undone; backups still have the data.
      </p>
      <Field label={`Type its id, ${of.client_id}`}>
        <input type="text" spellcheck={false} autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </Field>
    </Confirm>
  );
}
