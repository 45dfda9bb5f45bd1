/** The statuses of a client: add, rename, merge and remove them, each after a preview. */
import { useState } from 'preact/hooks';
import { getOf, sendOf } from '../clients/requests';
import { useRead, useRested } from '../data';
import { place } from '../route';
import { isAdmin } from '../session';
import type { Page } from '../types';
import { Button, Empty, LoadProblem, ProblemNote, Skeleton } from '../ui/basic';
import { Confirm, Field } from '../ui/confirm';
import { differencesOf, sendVersioned } from '../ui/conflict';
import { StatusMark } from '../ui/status';
import { toast } from '../ui/toast';
import { count, plural } from '../words';
import { follow } from './job';
import { KindSwitch } from './kind-switch';
import { Transitions } from './transitions';
import type { Job, Kind, RenamePreview, StatusRow } from './types';

interface Props {
  client: string;
  /** Whether the client declares which statuses there are. */
  declares: (kind: Kind) => boolean;
  onChange: () => void;
}

type Opened = { what: 'add'; name?: string } | { what: 'rename' | 'merge' | 'remove'; of: StatusRow } | null;

export function useStatusesOf(client: string, kind: Kind) {
  const path = `/public/v2/statuses/${kind}`;
  return useRead(`${path} of ${client}`, (signal) => getOf<Page<StatusRow>>(client, path, { limit: '200' }, signal), { enabled: client !== '' });
}

export function Statuses({ client, declares, onChange }: Props) {
  // A link from what needs a person names a status to add.
  const [{ name, records }] = useState(() => Object.fromEntries(place.value.query) as { [_ in 'name' | 'records']?: string });
  const [kind, setKind] = useState<Kind>(records === 'companies' ? records : 'contacts');
  const [opened, setOpened] = useState<Opened>(name ? { what: 'add', name } : null);
  const loaded = useStatusesOf(client, kind);
  const all = loaded.data?.data ?? [];
  const path = `/public/v2/statuses/${kind}`;
  const close = () => setOpened(null);
  const reload = () => {
    loaded.refetch();
    onChange();
  };
  return (
    <section class="panel" aria-labelledby="statuses">
      <header class="row">
        <h2 id="statuses">Statuses</h2>
        <KindSwitch kind={kind} onPick={setKind} />
        <span class="push" />
        {isAdmin.value && (
          <Button icon="plus" onClick={() => setOpened({ what: 'add' })}>
            Add a status
          </Button>
        )}
      </header>
      <p class="faint">{declares(kind) ? 'Only these statuses are allowed; an event that asks for another sets none.' : 'Every text is allowed as a status. Declare a set to refuse others.'}</p>
      <LoadProblem of={loaded} />
      {!loaded.data && !loaded.error && <Skeleton lines={6} wide={100} />}
      <ul class="lines" aria-label="Statuses">
        {all.map((each) => (
          <li key={each.name} class="line-of short">
            <div class="what">
              <StatusMark status={each.name} />
              <span class="faint">
                {[each.stands_for.length && each.stands_for[0] !== each.name ? `Touchbase’s “${each.stands_for.join('”, “')}”` : '', each.former_names.length ? `was ${each.former_names.map((one) => one.name).join(', ')}` : '', !each.declared ? 'not in the set' : '', each.refused ? `asked for in vain by ${plural(each.refused, 'webhook')}` : '']
                  .filter(Boolean)
                  .join('; ')}
              </span>
            </div>
            <span>{plural(each.records, kind === 'contacts' ? 'contact' : 'company', kind)}</span>
            {isAdmin.value && (
              <div class="tools">
                <Button aria-label={`Rename ${each.name}`} onClick={() => setOpened({ what: 'rename', of: each })}>
                  Rename
                </Button>
                <Button aria-label={`Merge ${each.name}`} onClick={() => setOpened({ what: 'merge', of: each })}>
                  Merge
                </Button>
                {declares(kind) && each.declared && (
                  <Button kind="danger" aria-label={`Remove ${each.name}`} onClick={() => setOpened({ what: 'remove', of: each })}>
                    Remove
                  </Button>
                )}
              </div>
            )}
          </li>
        ))}
      </ul>
      {loaded.data && all.length === 0 && <Empty icon="dot" title="No status yet" />}
      {declares(kind) && <Transitions key={`${client} ${kind}`} client={client} kind={kind} statuses={all.filter((each) => each.declared)} onSaved={reload} />}
      {opened?.what === 'add' && <Add client={client} path={path} asked={opened.name} declares={declares(kind)} onClose={close} onDone={reload} />}
      {(opened?.what === 'rename' || opened?.what === 'merge') && (
        <Rename key={opened.of.name} client={client} path={path} of={opened.of} merge={opened.what === 'merge'} all={all} onClose={close} onDone={reload} />
      )}
      {opened?.what === 'remove' && (
        <Confirm
          title={`Remove “${opened.of.name}”?`}
          action="Remove"
          danger
          onClose={close}
          run={async () => {
            const sent = await sendChange(client, path, opened.of, '', (present) => sendOf(client, 'DELETE', addressOf(path, present), undefined, {}, present.version));
            if (sent) toast(`“${opened.of.name}” is removed from the set.`);
            reload();
          }}
        >
          <p>
            {opened.of.records
              ? `${count(opened.of.records)} ${kind} have it, so it cannot be removed: merge it into another status.`
              : 'Events that ask for it later set no status, which their webhooks show as a problem. Adding it again applies them.'}
          </p>
        </Confirm>
      )}
    </section>
  );
}

/** The address of a status under its present name: its former ones refuse changes. */
function addressOf(path: string, { name }: StatusRow): string {
  return `${path}/${encodeURIComponent(name)}`;
}

/** Send a change of a status, which gives it another name or ends it. */
function sendChange<R>(client: string, path: string, of: StatusRow, name: string, send: (present: StatusRow) => Promise<R>) {
  const read = async () => (await getOf<Page<StatusRow>>(client, path, { limit: '200' })).data.find((each) => each.name === of.name || each.former_names.some((former) => former.name === of.name));
  const valuesOf = (row: StatusRow) => new Map([['Name', row.name], ['In the set', row.declared], ['May be followed by', row.next ?? 'any']] as [string, unknown][]);
  const mine = new Map<string, unknown>([['Name', name], ...(name ? [] : [['In the set', ''], ['May be followed by', '']] as [string, unknown][])]);
  return sendVersioned(of, read, (present) => differencesOf(valuesOf(of), mine, valuesOf(present), (label) => label), send);
}

interface AddProps {
  client: string;
  path: string;
  asked: string | undefined;
  declares: boolean;
  onClose: () => void;
  onDone: () => void;
}

function Add({ client, path, asked = '', declares, onClose, onDone }: AddProps) {
  const [name, setName] = useState(asked);
  const [starts, setStarts] = useState(false);
  async function run() {
    await sendOf(client, 'POST', path, { name: name.trim(), ...(starts && { start_set: true }) });
    toast(`“${name.trim()}” is a status now.`);
    onDone();
  }
  return (
    <Confirm title="Add a status" action="Add" disabled={!name.trim() || (!declares && !starts)} onClose={onClose} run={run}>
      <Field label="Name">
        <input type="text" autofocus value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      {!declares && (
        <label class="check">
          <input type="checkbox" checked={starts} onChange={(event) => setStarts(event.currentTarget.checked)} />
          <span>Declare a set that begins with the statuses in use and Touchbase’s words. From then on other statuses are refused. Without a set any text is a status, and none needs to be added.</span>
        </label>
      )}
    </Confirm>
  );
}

interface RenameProps {
  client: string;
  path: string;
  of: StatusRow;
  merge: boolean;
  all: readonly StatusRow[];
  onClose: () => void;
  onDone: () => void;
}

function Rename({ client, path, of, merge, all, onClose, onDone }: RenameProps) {
  const [name, setName] = useState('');
  const rested = useRested(name.trim(), 250);
  const request = (present: StatusRow, text: string, query: Record<string, string> = {}, version?: string) =>
    merge
      ? sendOf<Job & RenamePreview>(client, 'POST', `${addressOf(path, present)}/merge`, { into: text }, query, version)
      : sendOf<Job & RenamePreview>(client, 'PATCH', addressOf(path, present), { name: text }, query, version);
  const preview = useRead(`preview ${addressOf(path, of)} ${merge} ${rested}`, () => (rested && rested !== of.name ? request(of, rested, { dry_run: 'true' }) : Promise.resolve(null)), { gcTime: 0 });

  async function run() {
    // Somebody may have given it this very name meanwhile.
    const sent = await sendChange(client, path, of, name.trim(), async (present) => (present.name === name.trim() ? null : request(present, name.trim(), {}, present.version)));
    onDone();
    if (sent?.result) void follow(client, sent.result, `“${of.name}” becomes “${name.trim()}”`, onDone);
  }

  return (
    <Confirm title={merge ? `Merge “${of.name}” into another status` : `Rename “${of.name}”`} action={merge ? 'Merge' : 'Rename'} danger={merge} disabled={!name.trim() || name.trim() === of.name} onClose={onClose} run={run}>
      {merge ? (
        <Field label="Into" help="The two become one. It cannot be undone: only histories remember which of the two a record had.">
          <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
            <option value="">Choose a status</option>
            {all.filter((each) => each.name !== of.name && each.declared).map((each) => (
              <option key={each.name} value={each.name}>
                {each.name}
              </option>
            ))}
          </select>
        </Field>
      ) : (
        <Field label="New name" help="The old name still works: events and requests that say it mean the new one.">
          <input type="text" autofocus value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
      )}
      <div class="preview" role="status">
        {preview.error && <ProblemNote problem={preview.error} />}
        {preview.data && (
          <>
            <p>
              <b>{plural(preview.data.records, 'record')}</b> {preview.data.records === 1 ? 'has' : 'have'} it now and will change.
            </p>
            {preview.data.notes.map((each) => (
              <p key={each}>{each}.</p>
            ))}
          </>
        )}
      </div>
    </Confirm>
  );
}
