/** Add or change a connection. Secrets go in and never come back. */
import { useState } from 'preact/hooks';
import { call as send } from '../api';
import { SLOTS } from '../mapping/slots';
import { Confirm, CopyLine, Field, ShownOnce } from '../ui/confirm';
import { Dialog } from '../ui/overlay';
import { toast } from '../ui/toast';
import { ago, plural } from '../words';
import { ToolSelect } from './addresses';
import { clientPath, connectionPath, webhookAddress } from './requests';
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

interface Draft {
  status_property: Record<string, string | null>;
  create_unknown: boolean | null;
  time_zone: string;
  fields: Record<string, string>;
  silence_alarm: boolean;
}

function draftOf(of: Connection | undefined): Draft {
  const set = of?.settings;
  return {
    status_property: set?.status_property ?? {}, create_unknown: set?.create_unknown ?? null, time_zone: set?.time_zone ?? '', fields: set?.fields ?? {},
    silence_alarm: set?.silence_alarm ?? true,
  };
}

/** The settings that the draft changes, as a request has them. */
function changes(draft: Draft, before: Draft, channel: Channel, tool: string): Partial<ConnectionSettings> {
  const all: Partial<ConnectionSettings> = {
    create_unknown: draft.create_unknown, time_zone: draft.time_zone.trim() || null, silence_alarm: draft.silence_alarm,
    ...(channel === 'crm' && { status_property: draft.status_property }),
    ...(tool === 'generic' && { fields: draft.fields }),
  };
  const old = { ...before, time_zone: before.time_zone || null };
  return Object.fromEntries(Object.entries(all).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name as keyof Draft])));
}

/** Secrets as they were pasted: one on each line, but a public key in PEM has many lines. */
function secretsIn(text: string): string[] {
  if (text.includes('-----BEGIN')) return [text.trim()];
  return text.split('\n').map((each) => each.trim()).filter(Boolean);
}

export function ConnectionForm({ id, of, known, onClose, onDone }: Props) {
  const [picked, setPicked] = useState('');
  const [choice, setChoice] = useState<SecretChoice>('keep');
  const [secret, setSecret] = useState('');
  const [draft, setDraft] = useState(draftOf(of));
  const [made, setMade] = useState<Connection | null>(null);
  const [first, second] = picked.split('/');
  const channel = of?.channel ?? (first === 'crm' ? 'crm' : 'email_campaign');
  const tool = of?.tool ?? second ?? '';
  const change = (some: Partial<Draft>) => setDraft({ ...draft, ...some });
  const twice = !of && known.some((each) => each.channel === channel && each.tool === tool);

  async function save() {
    const settings = changes(draft, draftOf(of), channel, tool);
    const secrets = choice === 'paste' ? { secrets: secretsIn(secret) } : choice === 'remove' ? { secrets: null } : {};
    const body = { ...secrets, ...(choice === 'generate' && { generate_secret: true }), ...(Object.keys(settings).length > 0 && { settings }) };
    const saved = of
      ? await send<Connection>('PATCH', connectionPath(id, of), { body })
      : await send<Connection>('POST', clientPath(id, '/connections'), { body: { channel, tool, ...body } });
    onDone();
    if (saved.data.generated_secret || saved.data.would_refuse?.length) {
      setMade(saved.data);
      return false;
    }
    toast(of ? 'The connection is changed. It counts for calls from now on.' : `${nameOf(channel, tool)} is connected.`);
    return true;
  }

  if (made) return <Made id={id} made={made} onClose={onClose} />;
  return (
    <Confirm
      title={of ? `Connection of ${nameOf(of.channel, of.tool)}` : 'Add a connection'}
      action={of ? 'Save' : 'Connect'}
      disabled={!tool || twice || (choice === 'paste' && !secretsIn(secret).length)}
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
              <option value="keep">{of?.secret === 'set' ? 'As it is: a secret is set' : 'None: the address alone proves the sender'}</option>
              <option value="paste">{of?.secret === 'set' ? 'Replace it by one that I paste' : 'Paste the tool’s secret'}</option>
              <option value="generate">{of?.secret === 'set' ? 'Generate a new one; the old one stays valid' : 'Generate one'}</option>
              {of?.secret === 'set' && <option value="remove">Remove it</option>}
            </select>
          </Field>
          {choice === 'paste' && (
            <Field label="The tool’s secret" help="Several that are valid at once: one on each line. It is encrypted, and never shown again.">
              <textarea rows={3} spellcheck={false} autocomplete="off" value={secret} onInput={(event) => setSecret(event.currentTarget.value)} />
            </Field>
          )}
          {channel === 'crm' && <StatusProperty draft={draft} change={change} />}
          <Field label="Time zone" help="Of times that name none. Empty: UTC.">
            <input type="text" list="zones" value={draft.time_zone} placeholder="Europe/Berlin" onInput={(event) => change({ time_zone: event.currentTarget.value })} />
          </Field>
          <datalist id="zones">
            {Intl.supportedValuesOf('timeZone').map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
          <Field label="Events about unknown people">
            <select
              value={String(draft.create_unknown)}
              onChange={(event) => change({ create_unknown: event.currentTarget.value === 'null' ? null : event.currentTarget.value === 'true' })}
            >
              <option value="null">{channel === 'crm' ? 'Create the record' : 'As the client’s settings say'}</option>
              <option value="true">Create the record</option>
              <option value="false">Create none</option>
            </select>
          </Field>
          <label class="check">
            <input type="checkbox" checked={draft.silence_alarm} onChange={(event) => change({ silence_alarm: event.currentTarget.checked })} />
            <span>Say so when its usual calls do not come</span>
          </label>
          {tool === 'generic' && <Declared channel={channel} draft={draft} change={change} />}
        </>
      )}
    </Confirm>
  );
}

function secretHelp(channel: Channel, tool: string): string {
  const own = secretOf(channel, tool);
  return own ? `For ${nameOf(channel, tool)}: ${own}. Once it is set, its calls without proof are refused.` : 'This tool signs nothing. Generate one and append it to the address as ?token=…; calls without it are refused then.';
}

interface PartProps {
  draft: Draft;
  change: (some: Partial<Draft>) => void;
}

function StatusProperty({ draft, change }: PartProps) {
  const put = (kind: string, value: string) => {
    const { [kind]: _, ...rest } = draft.status_property;
    change({ status_property: value.trim() ? { ...rest, [kind]: value.trim() } : rest });
  };
  const kinds = [...new Set(['contact', 'company', ...Object.keys(draft.status_property)])];
  return (
    <fieldset>
      <legend>The property with the status</legend>
      <div class="pair">
        {kinds.map((kind) => (
          <Field key={kind} label={kind === 'contact' ? 'Of contacts' : kind === 'company' ? 'Of companies' : `Of ${kind}`}>
            <input type="text" value={draft.status_property[kind] ?? ''} placeholder="As the tool usually has it" onInput={(event) => put(kind, event.currentTarget.value)} />
          </Field>
        ))}
      </div>
    </fieldset>
  );
}

function Declared({ channel, draft, change }: PartProps & { channel: Channel }) {
  const put = (name: string, path: string) => {
    const { [name]: _, ...rest } = draft.fields;
    change({ fields: path.trim() ? { ...rest, [name]: path.trim() } : rest });
  };
  return (
    <fieldset>
      <legend>Where the body has what</legend>
      <p class="faint">Keys joined by dots; a number is a place in a list. The inbox lets you point at them in a call that was not understood.</p>
      <div class="pairs-of">
        {SLOTS[channel].map(({ name, text }) => (
          <Field key={name} label={text}>
            <input type="text" value={draft.fields[name] ?? ''} spellcheck={false} onInput={(event) => put(name, event.currentTarget.value)} />
          </Field>
        ))}
      </div>
    </fieldset>
  );
}

const REASONS: Record<string, string> = {
  must_prove: 'the secret is this tool’s', not_recognised: 'no other tool is recognised for certain', verification_required: 'the client’s settings ask every tool for a proof',
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
          {plural(each.calls, 'call')} of {nameOf(made.channel, each.tool)} in the last week, the last {ago(each.last_received_time)}, would be refused from now on: {REASONS[each.reason] ?? each.reason}.
        </p>
      ))}
    </Dialog>
  );
}
