/** Mapping by pointing: choose what is looked for, press the value in the body, see what would be recognised, store it. */
import { useMemo, useState } from 'preact/hooks';
import { asProblem, call as send, get, post, type Problem } from '../api';
import { connectionPath, connectionsOf } from '../clients/requests';
import { folded } from '../clients/seen-words';
import type { Channel, Connection } from '../clients/types';
import { useRead, useRested } from '../data';
import { reverting, type Change } from '../history/open';
import { CHANGES, summary } from '../history/revert';
import { href } from '../route';
import { follow } from '../settings/job';
import type { Job } from '../settings/types';
import type { Page, WholeDelivery } from '../types';
import { Button, Icon, LoadProblem, ProblemNote, Skeleton } from '../ui/basic';
import { toast } from '../ui/toast';
import { hasList, leavesOf, parsed, valueAt, type Leaf } from './body';
import { DryRun, isIgnored, missing, type Would } from './dry-run';
import { CRM_EVENTS, CUSTOM, EVENTS, SLOTS } from './slots';

type Fields = Record<string, string>;

interface Props {
  call: WholeDelivery;
  onClose: () => void;
  onDone: () => void;
}

/** Why the body of a call cannot be mapped; empty: it can, null: its tool has an adapter that reads it. */
export function whyNotMapped(call: WholeDelivery): string | null {
  if (call.tool !== null && call.tool !== 'generic') return null;
  if (!call.body) return 'Its body is no longer stored, so it cannot be mapped.';
  return call.body.encoding === 'utf-8' && parsed(call.body.content) !== undefined ? '' : 'Its body is neither a JSON object nor a form, so it cannot be mapped.';
}

export function Pointing({ call, onClose, onDone }: Props) {
  const loaded = useRead(`generic ${call.client_id} ${call.channel}`, async (signal) => {
    const all = await connectionsOf(call.client_id, signal);
    return { known: all.find((each) => each.channel === call.channel && each.tool === 'generic') ?? null };
  });
  if (loaded.error) return <LoadProblem of={loaded} />;
  if (!loaded.data) return <Skeleton lines={8} wide={90} />;
  return <Board call={call} known={loaded.data.known} onClose={onClose} onDone={onDone} />;
}

function Board({ call, known, onClose, onDone }: Props & { known: Connection | null }) {
  const channel: Channel = call.channel === 'crm' ? 'crm' : 'email_campaign';
  const [fields, setFields] = useState<Fields>(known?.settings.fields ?? {});
  const [custom, setCustom] = useState<string[]>(() => Object.keys(fields).filter((name) => name.startsWith(CUSTOM)));
  const [isEach, setEach] = useState(() => Object.values(fields).some((path) => path.includes('[]')));
  const slots = [...SLOTS[channel], ...custom.map((name) => ({ name, text: name.slice(CUSTOM.length) }))];
  const [body] = useState(() => parsed(call.body?.content ?? ''));
  const leaves = useMemo(() => leavesOf(body, channel, isEach), [body, channel, isEach]);
  const [events, setEvents] = useState<Fields>(known?.settings.events ?? {});
  const [at, setAt] = useState(slots.find((each) => !fields[each.name])?.name ?? 'email');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const isReady = ['email', 'linkedin_url', 'id', 'domain'].some((name) => fields[name]) || (channel === 'email_campaign' && Object.keys(fields).length > 0);
  const rested = useRested(JSON.stringify({ fields, events }), 250);
  const tried = useRead(`try ${call.id} ${isReady ? rested : ''}`, (signal) => (isReady ? dryRun(call, channel, { fields, events }, signal) : Promise.resolve(null)), { gcTime: 0, placeholderData: (former) => former });
  const event = valueAt(leaves, fields['event']);
  const meaningIn = (of: Fields | undefined) => (event === null ? undefined : Object.entries(of ?? {}).find(([name]) => folded(name) === folded(event))?.[1]);
  const means = meaningIn(events);
  const isNewRule = isIgnored(means) && !isIgnored(meaningIn(known?.settings.events));
  const [ruleName, setRuleName] = useState('');
  const lacks = channel === 'crm' && event && !means && isReady ? `Choose what “${event}” means.` : missing(tried.data, isReady, means);

  function point(path: string) {
    setFields({ ...fields, [at]: path });
    setAt(slots.find((each) => each.name !== at && !fields[each.name])?.name ?? at);
  }

  async function store() {
    setBusy(true);
    setProblem(null);
    try {
      const body = { ...mappingOf(call, { fields, events }), ...(isNewRule && ruleName.trim() && { rule_name: ruleName }) };
      const job = (await send<Job>('POST', mappingPath(call, channel), { body, headers: known ? { 'if-match': `"${known.updated_time}"` } : {} })).data;
      await followSaved(call.client_id, job, 'Mapping saved');
      onDone();
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }

  return (
    <section class="pointing" aria-label="Point at the fields">
      <p class="faint">Choose what you look for, then press its value in the body. What you leave out is {channel === 'crm' ? 'not read' : 'read by its usual names'}.</p>
      {hasList(body) && (
        <label class="check">
          <input type="checkbox" checked={isEach} onChange={(change) => setEach(change.currentTarget.checked)} /> Each entry of the list is about somebody else
        </label>
      )}
      <div class="sides">
        <Tree leaves={leaves} fields={fields} slots={slots} looking={slots.find((each) => each.name === at)?.text ?? ''} onPoint={point} />
        <div>
          <ul class="slots" aria-label="Fields">
            {slots.map((each) => (
              <li key={each.name} class={each.name === at ? 'at' : ''}>
                <button type="button" id={`slot ${each.name}`} aria-pressed={each.name === at} onClick={() => setAt(each.name)}>
                  <b>{each.text}</b>
                  <span class="cut" dir="auto">
                    {fields[each.name] ? (valueAt(leaves, fields[each.name]) ?? 'not in this body') : each.name === at ? 'Press its value' : '–'}
                  </span>
                </button>
                {fields[each.name] && (
                  <Button kind="quiet" icon="close" label={`Forget ${each.text}`} onClick={() => setFields(Object.fromEntries(Object.entries(fields).filter(([name]) => name !== each.name)))} />
                )}
              </li>
            ))}
          </ul>
          <NewField names={custom} onAdd={(name) => {
            setCustom([...custom, name]);
            setAt(name);
          }} />
          {event && <Meaning event={event} events={events} meanings={channel === 'crm' ? CRM_EVENTS : EVENTS} onPick={setEvents} />}
          {isNewRule && (
            <label class="meaning-of">
              Name of the rule that ignores them
              <input type="text" value={ruleName} placeholder={event ?? ''} onInput={(input) => setRuleName(input.currentTarget.value)} maxLength={200} />
            </label>
          )}
          <DryRun tried={tried} lacks={lacks} of={call.id} slots={slots} choose={(name) => {
            setAt(name);
            document.getElementById(`slot ${name}`)?.focus();
          }} />
          {problem && <ProblemNote problem={problem} />}
          <div class="tools">
            <Button kind="main" disabled={lacks !== '' || busy || tried.isFetching} busy={busy} onClick={() => void store()}>
              Save and replay
            </Button>
            <Button onClick={onClose}>Cancel</Button>
          </div>
          <p class="faint">
            Saving also reads the tool’s other webhooks again that were not recognised. It is stored as the connection “{channel === 'crm' ? 'Another CRM' : 'Another campaign tool'}” of <a href={href(`/clients/${call.client_id}`)}>the client</a>, and can be changed there.
          </p>
        </div>
      </div>
    </section>
  );
}

function mappingPath(call: WholeDelivery, channel: Channel): string {
  return `${connectionPath(call.client_id, { channel, tool: 'generic' })}/mapping`;
}

function mappingOf(call: WholeDelivery, settings: object): object {
  return { settings, state: call.state, of_tool: call.tool, like: call.id };
}

async function dryRun(call: WholeDelivery, channel: Channel, settings: object, signal: AbortSignal): Promise<Would> {
  const found = await post<Would>(mappingPath(call, channel), { ...mappingOf(call, settings), dry_run: true });
  signal.throwIfAborted();
  return found;
}

/** Wait until the stored webhooks were read again, and offer the way back. */
export async function followSaved(client_id: string, job: Job, what: string): Promise<void> {
  await follow(client_id, job, 'Reading webhooks again', () => undefined);
  const [change] = (await get<Page<Change>>(CHANGES, { client_id, job_id: String(job.id) })).data;
  if (change) toast(`${what}: ${summary(change.counts)}.`, { action: { text: 'Revert', run: () => (reverting.value = change) } });
}

interface TreeProps {
  leaves: readonly Leaf[];
  fields: Fields;
  slots: readonly { name: string; text: string }[];
  looking: string;
  onPoint: (path: string) => void;
}

function Tree({ leaves, fields, slots, looking, onPoint }: TreeProps) {
  const used = new Map(Object.entries(fields).map(([name, path]) => [path, slots.find((each) => each.name === name)?.text ?? name]));
  return (
    <ul class="tree code" aria-label="Values of the body">
      {leaves.map((each, n) => (
        <li key={`${n} ${each.path}`} style={{ paddingLeft: `${each.depth * 14}px` }}>
          {each.value === null ? (
            <span class="faint">{each.key}</span>
          ) : (
            <button type="button" class={used.has(each.path) ? 'used' : ''} onClick={() => onPoint(each.path)} title={`${each.path}: ${looking}`}>
              <span>{each.key}</span> <b dir="auto">{each.value || '“”'}</b>
              {used.has(each.path) && (
                <i>
                  <Icon name="check" /> {used.get(each.path)}
                </i>
              )}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Adds a custom field to what one can point at. */
function NewField({ names, onAdd }: { names: readonly string[]; onAdd: (name: string) => void }) {
  const [text, setText] = useState('');
  const name = CUSTOM + text.trim();
  return (
    <form
      class="row new-field"
      onSubmit={(event) => {
        event.preventDefault();
        if (!text.trim() || names.includes(name)) return;
        onAdd(name);
        setText('');
      }}
    >
      <label>
        Custom field <input type="text" value={text} onInput={(event) => setText(event.currentTarget.value)} maxLength={200} />
      </label>
      <button type="submit" class="button" disabled={!text.trim() || names.includes(name)}>
        Add
      </button>
    </form>
  );
}

function Meaning({ event, events, meanings, onPick }: { event: string; events: Fields; meanings: readonly (readonly [string, string])[]; onPick: (events: Fields) => void }) {
  const known = Object.keys(events).find((each) => folded(each) === folded(event));
  return (
    <label class="meaning-of">
      <span class="cut" dir="auto">
        What “{event}” means
      </span>
      <select
        value={known === undefined ? '' : (events[known] ?? '')}
        onChange={(change) => {
          const rest = Object.fromEntries(Object.entries(events).filter(([name]) => name !== known));
          onPick(change.currentTarget.value ? { ...rest, [event]: change.currentTarget.value } : rest);
        }}
      >
        <option value="">{meanings === CRM_EVENTS ? 'Choose…' : 'What its words say, else the status'}</option>
        {meanings.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
