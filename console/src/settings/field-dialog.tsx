/** One change of a custom field, with what it would do. */
import { useState } from 'preact/hooks';
import { getOf, sendOf } from '../clients/requests';
import { useRead, useRested } from '../data';
import { ProblemNote } from '../ui/basic';
import { Confirm, Field } from '../ui/confirm';
import { differencesOf, sendVersioned, type Difference } from '../ui/conflict';
import { toast } from '../ui/toast';
import { plural } from '../words';
import { follow } from './job';
import type { FieldRow, Job, Kind } from './types';

export type Change = 'rename' | 'type' | 'merge' | 'remove';
const TYPES = ['text', 'number', 'boolean', 'date', 'datetime', 'email', 'url', 'select'];

interface Props {
  client: string;
  kind: Kind;
  all: readonly FieldRow[];
  what: Change | 'define';
  of: FieldRow | null;
  onClose: () => void;
  onDone: () => void;
}

/** The answer of a dry run: of a change of names or values, or of a type. */
interface Preview {
  records?: number;
  misfits?: number;
  samples?: { value?: string }[];
}

export function FieldDialog({ client, kind, all, what, of, onClose, onDone }: Props) {
  const [name, setName] = useState('');
  const [type, setType] = useState(of?.type ?? 'text');
  const [options, setOptions] = useState((of?.options ?? []).join('\n'));
  const [keeps, setKeeps] = useState(false);
  const list = `/public/v2/custom-fields/${kind}`;
  const at = of ? `${list}/${encodeURIComponent(of.id)}` : list;
  const typed = { type, ...(type === 'select' && { options: options.split('\n').map((each) => each.trim()).filter(Boolean) }) };

  /** Send the change; the answer is a preview, a job, or what was done. */
  function request(query: Record<string, string> = {}, version?: string): Promise<(Preview & Partial<Job>) | undefined> {
    if (what === 'define') return sendOf(client, 'POST', list, { name: name.trim(), ...typed });
    if (what === 'rename') return sendOf(client, 'PATCH', at, { name: name.trim() }, query, version);
    if (what === 'merge') return sendOf(client, 'POST', `${at}/merge`, { into: name }, query, version);
    if (what === 'type') return sendOf(client, 'PATCH', at, typed, keeps ? { ...query, misfits: 'keep' } : query, version);
    return sendOf(client, 'DELETE', at, undefined, of?.records ? { ...query, values: 'delete' } : query, version);
  }

  const isReady = what === 'remove' || (what === 'type' ? type !== 'select' || options.trim() !== '' : name.trim() !== '' && name.trim() !== of?.name);
  const rested = useRested(`${name} ${type} ${options}`, 250);
  const preview = useRead(`${what} ${at} ${isReady} ${rested}`, async () => (isReady && what !== 'define' ? ((await request({ dry_run: 'true' })) ?? null) : null), { gcTime: 0 });

  /** What somebody else changed of the field: its name or its type, whichever this change replaces; for one that ends it, both. */
  function differencesTo(present: FieldRow): Difference[] {
    const typeOf = (row: Pick<FieldRow, 'type' | 'options'>) => [row.type, ...row.options].join(' ');
    const before = new Map([['Name', of?.name], ['Type', of && typeOf(of)]]);
    const theirs = new Map([['Name', present.name], ['Type', typeOf(present)]]);
    const mine = { rename: [['Name', name.trim()]], type: [['Type', typeOf({ options: [], ...typed })]], merge: [['Name', name], ['Type', `as ${name}`]], remove: [['Name', ''], ['Type', '']], define: [] } as const;
    return differencesOf(before, new Map<string, unknown>(mine[what]), theirs, (label) => label);
  }

  async function run() {
    const sent = of ? await sendVersioned(of, () => getOf<FieldRow>(client, at), differencesTo, ({ version }) => request({}, version)) : { result: await request() };
    onDone();
    if (!sent) return;
    const made = sent.result;
    const said = { define: `“${name.trim()}” is defined`, rename: `“${of?.name}” becomes “${name.trim()}”`, merge: `“${of?.name}” becomes part of “${name}”`, type: `“${of?.name}” has the type ${type}`, remove: `“${of?.name}” is removed` }[what];
    if (made?.state !== undefined && made.id !== undefined && what !== 'type') void follow(client, made as Job, said, onDone);
    else toast(`${said}.`);
  }

  const titles = { define: 'Define a custom field', rename: `Rename “${of?.name}”`, merge: `Merge “${of?.name}” into another field`, type: `Type of “${of?.name}”`, remove: `Remove “${of?.name}”?` };
  const actions = { define: 'Define', rename: 'Rename', merge: 'Merge', type: 'Set the type', remove: 'Remove' };
  return (
    <Confirm title={titles[what]} action={actions[what]} danger={what === 'remove' || what === 'merge'} disabled={!isReady} onClose={onClose} run={run}>
      {(what === 'define' || what === 'rename') && (
        <Field label={what === 'rename' ? 'New name' : 'Name'} help={what === 'rename' ? 'Requests, imports, filters and webhooks that use the old name reach the field from then on.' : undefined}>
          <input type="text" autofocus value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
      )}
      {what === 'merge' && (
        <Field label="Into" help="A record that has both keeps the value of the other field. This field’s name leads there from then on. It cannot be reverted.">
          <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
            <option value="">Choose a field</option>
            {all.filter((each) => each.name !== of?.name).map((each) => (
              <option key={each.id} value={each.name}>
                {each.name}
              </option>
            ))}
          </select>
        </Field>
      )}
      {(what === 'define' || what === 'type') && (
        <>
          <Field label="Type" help="Values of requests and imports must be of it. A webhook’s value is stored as it came, with a problem.">
            <select value={type} onChange={(event) => setType(event.currentTarget.value)}>
              {TYPES.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          </Field>
          {type === 'select' && (
            <Field label="Options" help="One on each line.">
              <textarea rows={5} value={options} onInput={(event) => setOptions(event.currentTarget.value)} />
            </Field>
          )}
        </>
      )}
      <div class="preview" role="status">
        {preview.error && <ProblemNote problem={preview.error} />}
        {preview.data?.records !== undefined && <p>{what === 'remove' ? `The values of ${plural(preview.data.records, 'record')} are removed too. They stay in the histories.` : `${plural(preview.data.records, 'record')} will change.`}</p>}
        {preview.data?.misfits === 0 && <p>All values are of this type.</p>}
        {(preview.data?.misfits ?? 0) > 0 && (
          <>
            <p>
              {plural(preview.data?.misfits ?? 0, 'value')} {preview.data?.misfits === 1 ? 'is' : 'are'} not of this type, such as {preview.data?.samples?.slice(0, 3).map((each) => `“${each.value}”`).join(', ')}.
            </p>
            <label class="check">
              <input type="checkbox" checked={keeps} onChange={(event) => setKeeps(event.currentTarget.checked)} />
              <span>Set the type all the same; these values stay until they are changed</span>
            </label>
          </>
        )}
      </div>
    </Confirm>
  );
}
