/** Add or change a connection. Secrets go in and never come back. */
import { useState } from 'preact/hooks';
import { call as send } from '../api';
import { place } from '../route';
import { Confirm, CopyLine, Field, ShownOnce } from '../ui/confirm';
import { Dialog } from '../ui/overlay';
import { toast } from '../ui/toast';
import { ago, plural } from '../words';
import { ToolSelect } from './addresses';
import { SettingFields } from './connection-settings';
import { clientPath, connectionPath, webhookAddress } from './requests';
import { changes, hasApi, NO_SETTINGS } from './setting-table';
import { nameOf, secretOf } from './tools';
import type { Channel, Connection, ConnectionSettings } from './types';

interface Props {
  id: string;
  /** The connection to change; without it one is added. */
  of?: Connection;
  known: readonly Connection[];
  onClose: () => void;
  onDone: () => void;
}

type SecretChoice = 'keep' | 'generate' | 'paste' | 'remove';
type TokenChoice = 'keep' | 'paste' | 'remove';

/** Secrets as they were pasted: one on each line, but a public key in PEM has many lines. */
function secretsIn(text: string): string[] {
  if (text.includes('-----BEGIN')) return [text.trim()];
  return text.split('\n').map((each) => each.trim()).filter(Boolean);
}

export function ConnectionForm({ id, of, known, onClose, onDone }: Props) {
  const [picked, setPicked] = useState(of ? '' : (place.value.query.get('connection') ?? ''));
  // A link from what needs a person leads to the field.
  const field = place.value.query.get('field');
  const [choice, setChoice] = useState<SecretChoice>(field === 'secret' ? 'paste' : 'keep');
  const [secret, setSecret] = useState('');
  const [tokenChoice, setTokenChoice] = useState<TokenChoice>(field === 'token' ? 'paste' : 'keep');
  const [token, setToken] = useState('');
  const [draft, setDraft] = useState<ConnectionSettings>(of?.settings ?? NO_SETTINGS);
  const [made, setMade] = useState<Connection | null>(null);
  const [first, second] = picked.split('/');
  const channel = of?.channel ?? (first === 'crm' ? 'crm' : 'email_campaign');
  const tool = of?.tool ?? second ?? '';
  const change = (some: Partial<ConnectionSettings>) => setDraft((old) => ({ ...old, ...some }));
  const twice = !of && known.some((each) => each.channel === channel && each.tool === tool);

  async function save() {
    const settings = changes(draft, of?.settings ?? NO_SETTINGS, channel, tool);
    const secrets = choice === 'paste' ? { secrets: secretsIn(secret) } : choice === 'remove' ? { secrets: null } : {};
    const access = tokenChoice === 'paste' ? { access_token: token.trim() } : tokenChoice === 'remove' ? { access_token: null } : {};
    const body = { ...secrets, ...access, ...(choice === 'generate' && { generate_secret: true }), ...(Object.keys(settings).length > 0 && { settings }) };
    const saved = of
      ? await send<Connection>('PATCH', connectionPath(id, of), { body, headers: { 'if-match': `"${of.updated_time}"` } })
      : await send<Connection>('POST', clientPath(id, '/connections'), { body: { channel, tool, ...body } });
    onDone();
    if (saved.data.generated_secret || saved.data.would_refuse?.length) {
      setMade(saved.data);
      return false;
    }
    toast(of ? 'The connection is changed. It counts for webhooks from now on.' : `${nameOf(channel, tool)} is connected.`);
    return true;
  }

  if (made) return <Made id={id} made={made} onClose={onClose} />;
  return (
    <Confirm
      title={of ? `Connection of ${nameOf(of.channel, of.tool)}` : 'Add a connection'}
      action={of ? 'Save' : 'Connect'}
      disabled={!tool || twice || (choice === 'paste' && !secretsIn(secret).length) || (tokenChoice === 'paste' && !token.trim())}
      onClose={onClose}
      run={save}
      wide
    >
      {!of && (
        <Field label="Tool" help={twice ? 'It is connected already: change that connection.' : 'At most one connection of a tool on each channel.'}>
          <ToolSelect value={picked} none="Choose a tool" onPick={setPicked} />
        </Field>
      )}
      {tool && (
        <>
          <Field label="Secret" help={secretHelp(channel, tool)}>
            <select value={choice} onChange={(event) => setChoice(event.currentTarget.value as SecretChoice)}>
              <option value="keep">{of?.secret === 'set' ? 'As it is: a secret is set' : 'None: whoever knows the address can send'}</option>
              <option value="paste">{of?.secret === 'set' ? 'Replace it by one that I paste' : 'Paste the tool’s secret'}</option>
              <option value="generate">{of?.secret === 'set' ? 'Generate a new one; the old one stays valid' : 'Generate one'}</option>
              {of?.secret === 'set' && <option value="remove">Remove it</option>}
            </select>
          </Field>
          {choice === 'paste' && (
            <Field label="The tool’s secret" help="Several that are valid at once: one on each line. It is encrypted, and never shown again.">
              <textarea rows={3} autofocus={field === 'secret'} spellcheck={false} autocomplete="off" value={secret} onInput={(event) => setSecret(event.currentTarget.value)} />
            </Field>
          )}
          {hasApi(channel, tool) && (
            <>
              <Field label="Access token" help={tokenHelp(channel, tool)}>
                <select value={tokenChoice} onChange={(event) => setTokenChoice(event.currentTarget.value as TokenChoice)}>
                  <option value="keep">{of?.access_token === 'set' ? 'As it is: a token is set' : 'None: nothing is fetched or written'}</option>
                  <option value="paste">{of?.access_token === 'set' ? 'Replace it by one that I paste' : 'Paste a token'}</option>
                  {of?.access_token === 'set' && <option value="remove">Remove it</option>}
                </select>
              </Field>
              {tokenChoice === 'paste' && (
                <Field label="The token" help="It is encrypted, and never shown again. The old one is not asked for any more.">
                  <input type="password" autofocus={field === 'token'} spellcheck={false} autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
                </Field>
              )}
            </>
          )}
          <SettingFields key={`${channel} ${tool}`} id={id} channel={channel} tool={tool} exists={of !== undefined} settings={draft} change={change} />
        </>
      )}
    </Confirm>
  );
}

function tokenHelp(channel: Channel, tool: string): string {
  if (channel === 'email_campaign') return 'With one, an endpoint of the kind Blocklist fills the tool’s blocklist with the do-not-contact list.';
  const way = tool === 'zoho' ? ' Zoho’s expire within the hour: give refresh:CLIENT_ID:CLIENT_SECRET:REFRESH_TOKEN.' : '';
  return `With one, records that the webhooks leave out are fetched from the tool’s API.${way}`;
}

function secretHelp(channel: Channel, tool: string): string {
  const own = secretOf(channel, tool);
  return own ? `For ${nameOf(channel, tool)}: ${own}. Once it is set, its webhooks without proof are refused.` : 'This tool signs nothing. Generate one and append it to the address as ?token=…; webhooks without it are refused then.';
}

const REASONS: Record<string, string> = {
  must_prove: 'the secret is this tool’s', not_recognised: 'no other tool is recognised for certain', verification_required: 'the client’s settings require signatures',
};

function Made({ id, made, onClose }: { id: string; made: Connection; onClose: () => void }) {
  return (
    <Dialog title={`${nameOf(made.channel, made.tool)} is connected`} onClose={onClose} wide>
      {made.generated_secret && (
        <ShownOnce text={made.generated_secret} of="secret">
          {secretOf(made.channel, made.tool) === null && (
            <>
              <p>The address with it, to paste into the tool in place of the old one:</p>
              <CopyLine text={`${webhookAddress(id, made.channel)}?token=${made.generated_secret}`} of="address with the secret" />
            </>
          )}
        </ShownOnce>
      )}
      {made.would_refuse?.map((each) => (
        <p key={`${each.tool} ${each.reason}`} class="meaning warn">
          {plural(each.calls, 'webhook')} of {nameOf(made.channel, each.tool)} in the last week, the last {ago(each.last_received_time)}, would be refused from now on: {REASONS[each.reason] ?? each.reason}.
        </p>
      ))}
    </Dialog>
  );
}
