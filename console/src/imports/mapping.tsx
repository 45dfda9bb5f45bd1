/** What becomes of the columns of an uploaded file, before anything is written. */
import { useState } from 'preact/hooks';
import { asProblem, call, get, post, Problem } from '../api';
import { memberName } from '../kinds/kind';
import { useGet, useRead } from '../data';
import { client } from '../route';
import type { CustomField, Page } from '../types';
import { Button, Icon, ProblemNote } from '../ui/basic';
import { Popover } from '../ui/overlay';
import { toast, toastProblem } from '../ui/toast';
import { plural, words } from '../words';
import { MATCHES, targetsOf, type Many } from './targets';
import type { Job, Mapping, Mode, Preview, StoredMapping } from './types';
import { manyOf } from './words';

interface Props {
  job: Job;
  preview: Preview;
  started: (job: Job) => void;
}

interface Choice {
  columns: Record<string, string>;
  day_order: Mapping['day_order'];
  time_zone: string;
  without_key: boolean;
  mode: Mode;
  match: string;
  save_as: string;
}

const DELIMITERS: Record<string, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'bar' };
const MODES: readonly (readonly [Mode, string])[] = [
  ['upsert', 'are updated; others are created'],
  ['create', 'stay as they are; others are created'],
  ['update', 'are updated; other rows are refused'],
];

/** The target of each column of the file, under a mapping. */
function spread(mapping: Mapping, header: readonly string[]): Record<string, string> {
  return Object.fromEntries(header.map((name) => [name, mapping.columns[name] ?? (mapping.others === 'custom' ? `cf.${name}` : '')]));
}

export function MappingForm({ job, preview, started }: Props) {
  const many = manyOf(job);
  const { settings } = job;
  const begin = preview.mapping;
  const [choice, setChoice] = useState<Choice>({
    columns: spread(begin, preview.header), day_order: begin.day_order, time_zone: begin.time_zone, without_key: begin.without_key,
    mode: settings.mode ?? 'upsert', match: settings.match ?? '', save_as: '',
  });
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const change = (changed: Partial<Choice>) => setChoice((old) => ({ ...old, ...changed }));
  const fields = useRead(`custom fields ${client.value}`, async (signal) => {
    const read = (of: Many) => get<Page<CustomField>>(`/public/v2/custom-fields/${of}`, { limit: '200' }, signal);
    const [contacts, companies] = await Promise.all([read('contacts'), read('companies')]);
    return { contacts: contacts.data.map((each) => each.name), companies: companies.data.map((each) => each.name) };
  });
  const known = fields.data ?? { contacts: [], companies: [] };
  const faults = faultsOf(problem);
  const used = Object.values(choice.columns).filter(Boolean).length;

  async function start(dry_run: boolean) {
    setBusy(true);
    setProblem(null);
    const { mode, match, save_as, columns, day_order, time_zone, without_key } = choice;
    try {
      const mapping = { columns, others: begin.others, day_order, time_zone: time_zone.trim() || 'UTC', without_key };
      started(await post<Job>(`/public/v2/jobs/${job.id}/start`, { mapping, mode, match, dry_run, save_as: save_as.trim() }));
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  }

  return (
    <form
      class="mapping"
      onSubmit={(event) => {
        event.preventDefault();
        void start(false);
      }}
    >
      <p class="faint">{looks(preview)}</p>
      <div class="mapping-body">
        <div class="scroll" tabIndex={0} role="region" aria-label="Columns of the file">
          <table class="table columns-table">
            <thead>
              <tr>
                <th scope="col">Column</th>
                <th scope="col">First rows</th>
                <th scope="col">Becomes</th>
              </tr>
            </thead>
            <tbody>
              {preview.header.map((name, n) => (
                <Column
                  key={n}
                  name={name}
                  values={preview.rows.map((row) => row[n] ?? '')}
                  many={many}
                  chosen={choice.columns[name] ?? ''}
                  known={known}
                  fault={faults.get(name)}
                  pick={(target) => change({ columns: { ...choice.columns, [name]: target } })}
                />
              ))}
            </tbody>
          </table>
        </div>
        <aside class="mapping-how" aria-label="How it is imported">
          <Stored
            many={many}
            use={(mapping = begin) => {
              const { day_order, time_zone, without_key } = mapping;
              change({ columns: spread(mapping, preview.header), day_order, time_zone, without_key });
            }}
          />
          <How many={many} choice={choice} change={change} />
        </aside>
      </div>
      {problem && <ProblemNote problem={faults.size ? new Problem(problem.status, problem.code, problem.message) : problem} />}
      <div class="bar-below">
        <span class="faint" aria-live="polite">
          {used} of {plural(preview.header.length, 'column')} imported
        </span>
        <span class="push" />
        <Button busy={busy} onClick={() => void start(true)}>
          Test run
        </Button>
        <Button type="submit" kind="main" icon="upload" busy={busy}>
          Import
        </Button>
      </div>
    </form>
  );
}

/** What the API says of single columns, by their names. */
function faultsOf(problem: Problem | null): Map<string, string> {
  const begin = '/mapping/columns/';
  const found = (problem?.body.errors ?? []).filter((each) => each.pointer.startsWith(begin));
  return new Map(found.map((each) => [each.pointer.slice(begin.length).replace(/~1/g, '/').replace(/~0/g, '~'), each.detail]));
}

function looks({ format, encoding, delimiter, sheet, sheets, source, header }: Preview): string {
  const parts = [format.toUpperCase(), format === 'csv' && encoding.replace('-sig', ''), format === 'csv' && DELIMITERS[delimiter], sheet && `sheet “${sheet}”${sheets.length > 1 ? ` of ${sheets.length}` : ''}`];
  const looked = parts.filter(Boolean).join(', ');
  return `${looked}; ${plural(header.length, 'column')}.${source ? ` It looks like an export of ${words(source)}.` : ''} Check what each becomes; nothing is written yet.`;
}

interface ColumnProps {
  name: string;
  values: readonly string[];
  many: Many;
  chosen: string;
  known: Readonly<Record<Many, readonly string[]>>;
  fault: string | undefined;
  pick: (target: string) => void;
}

function Column({ name, values, many, chosen, known, fault, pick }: ColumnProps) {
  const groups = targetsOf(many, name, chosen, known);
  return (
    <tr class={chosen ? '' : 'out'}>
      <th scope="row" dir="auto">
        {name}
      </th>
      <td dir="auto" class="sample">
        {values.filter(Boolean).slice(0, 3).join(' · ') || <span class="absent">empty</span>}
      </td>
      <td>
        <select value={chosen} aria-label={`What ${name} becomes`} aria-invalid={fault !== undefined} onChange={(event) => pick(event.currentTarget.value)}>
          <option value="">Left out</option>
          {groups.map((group) => (
            <optgroup key={group.name} label={group.name}>
              {group.targets.map((each) => (
                <option key={each.value} value={each.value}>
                  {each.name}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
        {fault && (
          <p class="wrong" role="alert">
            {fault}
          </p>
        )}
      </td>
    </tr>
  );
}

function How({ many, choice, change }: { many: Many; choice: Choice; change: (changed: Partial<Choice>) => void }) {
  return (
    <div class="fieldset">
      <label>
        {many === 'contacts' ? 'Contacts' : 'Companies'} that exist
        <select value={choice.mode} onChange={(event) => change({ mode: event.currentTarget.value as Mode })}>
          {MODES.map(([mode, text]) => (
            <option key={mode} value={mode}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label>
        A row is one that exists if
        <select value={choice.match} onChange={(event) => change({ match: event.currentTarget.value })}>
          <option value="">any address or external id is the same</option>
          {MATCHES[many].map((each) => (
            <option key={each} value={each}>
              {memberName(each)} is the same
            </option>
          ))}
        </select>
      </label>
      {many === 'contacts' && (
        <label>
          A date such as 11/12/2026 is
          <select value={choice.day_order} onChange={(event) => change({ day_order: event.currentTarget.value as Mapping['day_order'] })}>
            <option value="">refused, as it is not clear</option>
            <option value="day_first">11 December</option>
            <option value="month_first">12 November</option>
          </select>
        </label>
      )}
      {many === 'contacts' && (
        <label>
          Zone of times without one
          <input type="text" value={choice.time_zone} spellcheck={false} placeholder="UTC" onInput={(event) => change({ time_zone: event.currentTarget.value })} />
        </label>
      )}
      <label>
        Save mapping as
        <input type="text" value={choice.save_as} placeholder="Name, such as Airtable leads" maxLength={200} onInput={(event) => change({ save_as: event.currentTarget.value })} />
      </label>
      {many === 'contacts' && (
        <label class="check">
          <input type="checkbox" checked={choice.without_key} onChange={(event) => change({ without_key: event.currentTarget.checked })} />
          <span>Also rows without an e-mail and LinkedIn address; the same file twice makes them twice</span>
        </label>
      )}
    </div>
  );
}

/** The mappings that the client keeps: use one, or remove it. */
function Stored({ many, use }: { many: Many; use: (mapping?: Mapping) => void }) {
  const path = `/public/v2/import-mappings/${many}`;
  const loaded = useGet<{ data: StoredMapping[] }>(path);
  const [chosen, setChosen] = useState('');
  const stored = loaded.data?.data ?? [];
  async function remove(name: string) {
    try {
      await call('DELETE', `${path}/${encodeURIComponent(name)}`);
      toast(`The mapping “${name}” is removed.`);
      loaded.refetch();
    } catch (error) {
      toastProblem(error);
    }
  }
  return (
    <Popover text={chosen || 'As guessed from the columns'} label={`Mapping: ${chosen || 'As guessed from the columns'}`} icon="columns" class="mapping-choice" disabled={!stored.length}>
      {(close) => (
        <div class="entries">
          {['', ...stored.map((each) => each.name)].map((name) => (
            <div key={name} class="entry-line">
              <button
                type="button"
                class="entry"
                aria-pressed={name === chosen}
                onClick={() => {
                  close();
                  setChosen(name);
                  use(stored.find((each) => each.name === name)?.mapping);
                }}
              >
                <span class="tick">{name === chosen && <Icon name="check" />}</span>
                <span class="cut">{name || 'As guessed from the columns'}</span>
              </button>
              {name && <Button kind="quiet" icon="close" label={`Remove the mapping ${name}`} onClick={() => void remove(name)} />}
            </div>
          ))}
        </div>
      )}
    </Popover>
  );
}
