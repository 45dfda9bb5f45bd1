/** The settings of a connection as fields, in groups; those that are seldom needed are folded until one of them is set. */
import { useState } from 'preact/hooks';
import { useRead } from '../data';
import { CRM_EVENTS, CUSTOM, EVENTS, SLOTS } from '../mapping/slots';
import { href } from '../route';
import type { Page, Status } from '../types';
import { Field } from '../ui/confirm';
import { getOf } from './requests';
import { GROUPS, NO_SETTINGS, type SettingGroup, type SettingRow } from './setting-table';
import type { Channel, ConnectionSettings } from './types';
import { WordTable } from './word-table';

interface Props {
  id: string;
  channel: Channel;
  tool: string;
  /** Whether the connection exists. */
  exists: boolean;
  settings: ConnectionSettings;
  change: (some: Partial<ConnectionSettings>) => void;
}

export function SettingFields(props: Props) {
  const { channel, tool } = props;
  return (
    <>
      {GROUPS.map((group) => ({ ...group, rows: group.rows.filter((each) => each.shown(channel, tool)) }))
        .filter((group) => group.rows.length > 0)
        .map((group) => (
          <Group key={group.name} group={group} {...props} />
        ))}
    </>
  );
}

function Group({ group, ...props }: Props & { group: SettingGroup }) {
  const isSet = (row: SettingRow) => JSON.stringify(props.settings[row.name]) !== JSON.stringify(NO_SETTINGS[row.name]);
  const [unfolded] = useState(group.rows.some(isSet));
  const rows = group.rows.map((row) => (
    <div key={row.name} data-setting={row.name}>
      <One row={row} {...props} />
    </div>
  ));
  if (group.usual) return <>{rows}</>;
  return (
    <details class="more-settings" open={unfolded}>
      <summary>{group.name}</summary>
      {rows}
    </details>
  );
}

function One({ row, ...props }: Props & { row: SettingRow }) {
  const { channel, settings, change } = props;
  const value = settings[row.name];
  const put = (next: ConnectionSettings[keyof ConnectionSettings]) => change({ [row.name]: next });
  if (row.as === 'own') return <Own row={row} {...props} />;
  if (row.as === 'table') return <Words row={row} {...props} />;
  if (row.as === 'check') {
    return (
      <label class="check">
        <input type="checkbox" checked={value === true} onChange={(event) => put(event.currentTarget.checked)} />
        <span>
          {row.text} {row.help && <span class="faint">{row.help}</span>}
        </span>
      </label>
    );
  }
  if (row.as === 'choice') {
    return (
      <Field label={row.text}>
        <select value={String(value)} onChange={(event) => put(event.currentTarget.value === 'null' ? null : event.currentTarget.value === 'true')}>
          <option value="null">{channel === 'crm' ? 'Yes, as usual for CRMs' : 'As the client’s settings say'}</option>
          <option value="true">Yes</option>
          <option value="false">No</option>
        </select>
      </Field>
    );
  }
  if (row.as === 'number') {
    return (
      <Field label={row.text} help={row.help}>
        <input type="number" min={60} value={value === null ? '' : Number(value)} onInput={(event) => put(event.currentTarget.value === '' ? null : event.currentTarget.valueAsNumber)} />
      </Field>
    );
  }
  return (
    <Field label={row.text} help={row.help}>
      <input type="text" spellcheck={false} placeholder={row.example} value={value === null ? '' : String(value)} onInput={(event) => put(event.currentTarget.value || null)} />
    </Field>
  );
}

function Words({ row, id, channel, settings, change }: Props & { row: SettingRow }) {
  const statuses = useRead(`words of ${row.name} ${id}`, (signal) => (row.name === 'deal_labels' ? getOf<Page<Status>>(id, '/public/v2/statuses/contacts', { limit: '200' }, signal) : Promise.resolve(null)));
  const names = row.name === 'objects' ? ['contact', 'company', 'ignore'] : statuses.data?.data.map((each) => each.name);
  return (
    <WordTable
      text={row.text}
      help={row.help}
      of={row.of ?? ['Word', 'Means']}
      value={settings[row.name] as Record<string, string | null>}
      onChange={(value) => change({ [row.name]: value })}
      {...(row.name === 'events' && { choices: channel === 'crm' ? CRM_EVENTS : EVENTS })}
      {...(names && { known: names })}
      {...(row.name === 'deal_labels' && { none: 'No status' })}
    />
  );
}

/** The settings that have a form of their own. */
function Own({ row, id, channel, tool, exists, settings, change }: Props & { row: SettingRow }) {
  if (row.name === 'status_property') return <StatusProperty settings={settings} change={change} />;
  if (row.name === 'fields') return <Declared channel={channel} settings={settings} change={change} />;
  if (row.name === 'status_labels') {
    return (
      <p class="faint">
        {exists ? <a href={href(`/clients/${id}`, { words: `${channel}/${tool}` })}>{row.text}</a> : row.text} {exists ? 'has a page of its own, which shows the words that were seen.' : 'gets a page of its own once the tool is connected.'}
      </p>
    );
  }
  return (
    <>
      <Field label={row.text} help={row.help}>
        <input type="text" list="zones" value={settings.time_zone ?? ''} placeholder="Europe/Berlin" onInput={(event) => change({ time_zone: event.currentTarget.value || null })} />
      </Field>
      <datalist id="zones">
        {Intl.supportedValuesOf('timeZone').map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  );
}

type PartProps = Pick<Props, 'settings' | 'change'>;

function StatusProperty({ settings, change }: PartProps) {
  const put = (kind: string, value: string) => {
    const { [kind]: _, ...rest } = settings.status_property;
    change({ status_property: value ? { ...rest, [kind]: value } : rest });
  };
  const kinds = [...new Set(['contact', 'company', ...Object.keys(settings.status_property)])];
  return (
    <fieldset>
      <legend>The property with the status</legend>
      <div class="pair">
        {kinds.map((kind) => (
          <Field key={kind} label={kind === 'contact' ? 'Of contacts' : kind === 'company' ? 'Of companies' : `Of ${kind}`}>
            <input type="text" value={settings.status_property[kind] ?? ''} placeholder="As the tool usually has it" onInput={(event) => put(kind, event.currentTarget.value)} />
          </Field>
        ))}
      </div>
    </fieldset>
  );
}

function Declared({ channel, settings, change }: PartProps & { channel: Channel }) {
  const put = (name: string, path: string) => {
    const { [name]: _, ...rest } = settings.fields;
    change({ fields: path ? { ...rest, [name]: path } : rest });
  };
  const isCustom = ([name]: readonly [string, unknown]) => name.startsWith(CUSTOM);
  const custom = Object.fromEntries(Object.entries(settings.fields).filter(isCustom).map(([name, path]) => [name.slice(CUSTOM.length), path]));
  const putCustom = (paths: Record<string, string | null>) => {
    const others = Object.entries(settings.fields).filter((entry) => !isCustom(entry));
    change({ fields: Object.fromEntries([...others, ...Object.entries(paths).map(([name, path]) => [CUSTOM + name, path ?? ''] as const)]) });
  };
  return (
    <fieldset>
      <legend>Where the body has what</legend>
      <p class="faint">Keys joined by dots; a number is a place in a list. On a webhook that was not recognised, “Map fields” lets you choose them.</p>
      <div class="pairs-of">
        {SLOTS[channel].map(({ name, text }) => (
          <Field key={name} label={text}>
            <input type="text" value={settings.fields[name] ?? ''} spellcheck={false} onInput={(event) => put(name, event.currentTarget.value)} />
          </Field>
        ))}
      </div>
      <WordTable text="Custom fields" help="Each with its path in the body, or its column." of={['Custom field', 'Its place']} value={custom} onChange={putCustom} />
    </fieldset>
  );
}
