/** What becomes of the columns of an uploaded file, before anything is written. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, call, get, post, Problem } from '../api';
import { memberName } from '../kinds/kind';
import { useGet, useRead } from '../data';
import { client } from '../route';
import type { CustomField, Page } from '../types';
import { Button, Icon, ProblemNote } from '../ui/basic';
import { Popover } from '../ui/overlay';
import { toast, toastProblem } from '../ui/toast';
import { plural, words } from '../words';
import { Checked, Questions } from './questions';
import { HowRead } from './reading';
import { MATCHES, targetsOf, type Many } from './targets';
import type { Choice, Job, Mapping, Mode, Preview, Reading, StoredMapping } from './types';
import { manyOf } from './words';

interface Props {
  job: Job;
  preview: Preview;
  started: (job: Job) => void;
}

/** Milliseconds without a change after which the rows are checked by the changed mapping. */
const PAUSE = 400;
const MODES: readonly (readonly [Mode, string])[] = [
  ['upsert', 'are updated; others are created'],
  ['create', 'stay as they are; others are created'],
  ['update', 'are updated; other rows are refused'],
];

/** The target of each column of the file, under a mapping. */
function spread(mapping: Mapping, header: readonly string[]): Record<string, string> {
  return Object.fromEntries(header.map((name) => [name, mapping.columns[name] ?? (mapping.others === 'custom' ? `cf.${name}` : '')]));
}

/** The part of a choice that a mapping has. */
function choiceOf({ columns: _, ...mapping }: Mapping, columns: Record<string, string>, preview: Preview): Omit<Choice, 'mode' | 'match' | 'save_as'> {
  const { day_order, time_zone, without_key, repeated, join_statuses, opt_outs } = mapping;
  const refused = opt_outs === null ? [] : preview.opt_outs.map((each) => each.column).filter((name) => !opt_outs.includes(name));
  return { columns, day_order, time_zone, without_key, repeated, join_statuses, refused };
}

/** The mapping that a choice is; its columns of opt-outs are those that the preview names and nobody refused. */
function mappingOf(choice: Choice, preview: Preview): Mapping {
  const { columns, day_order, time_zone, without_key, repeated, join_statuses, refused } = choice;
  const opt_outs = refused.length ? preview.opt_outs.map((each) => each.column).filter((name) => !refused.includes(name)) : null;
  return { columns, others: preview.mapping.others, day_order, time_zone: time_zone.trim() || 'UTC', without_key, repeated, join_statuses, opt_outs };
}

export function MappingForm({ job, preview: first, started }: Props) {
  const many = manyOf(job);
  const { settings } = job;
  const [preview, setPreview] = useState(first);
  const begin = preview.mapping;
  const [choice, setChoice] = useState<Choice>({
    ...choiceOf(begin, spread(begin, preview.header), preview), mode: settings.mode ?? 'upsert', match: settings.match ?? '', save_as: '',
  });
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [checking, setChecking] = useState(false);
  const change = (changed: Partial<Choice>) => setChoice((old) => ({ ...old, ...changed }));
  const { opt_outs: _, ...mapping } = mappingOf(choice, preview);
  const asked = JSON.stringify(mapping);
  const answered = useRef(asked);
  const reading = useRef<Reading>(readingOf(settings));
  /** The request that reads the file; a start waits for it. */
  const current = useRef(Promise.resolve());
  useEffect(() => {
    if (asked === answered.current) return;
    const check = () => {
      if (asked !== answered.current) current.current = read(reading.current, asked);
    };
    const timer = setTimeout(check, PAUSE);
    return () => clearTimeout(timer);
  }, [asked]);

  /** Read the file again: in another way with a mapping that is guessed, or as before with the `asked` one. */
  async function read(how: Reading, asked = '') {
    const turn = (answered.current = asked || `${Date.now()}`);
    setChecking(true);
    try {
      const body = asked ? { ...how, mapping: JSON.parse(asked) as Mapping } : how;
      const again = (await post<Job>(`/public/v2/jobs/${job.id}/preview`, body)).preview;
      if (answered.current !== turn || !again) return;
      reading.current = how;
      setPreview(again);
      setProblem(null);
      if (asked) change({ day_order: again.mapping.day_order });
      else change(choiceOf(again.mapping, spread(again.mapping, again.header), again));
      const { opt_outs: _, ...mapping } = again.mapping;
      answered.current = JSON.stringify({ ...(asked ? (JSON.parse(asked) as Mapping) : mapping), day_order: mapping.day_order });
    } catch (error) {
      if (answered.current === turn) setProblem(asProblem(error));
    }
    setChecking(false);
  }
  const fields = useRead(`custom fields ${client.value}`, async (signal) => {
    /** All names: a column's own is new only if none of them is it. */
    async function read(of: Many): Promise<string[]> {
      const names: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const page: Page<CustomField> = await get<Page<CustomField>>(`/public/v2/custom-fields/${of}`, { limit: '200', cursor }, signal);
        names.push(...page.data.map((each) => each.name));
        cursor = page.next_cursor;
      }
      return names;
    }
    const [contacts, companies] = await Promise.all([read('contacts'), read('companies')]);
    return { contacts, companies };
  });
  const known = fields.data ?? { contacts: [], companies: [] };
  const faults = faultsOf(problem);
  const used = Object.values(choice.columns).filter(Boolean).length;

  async function start(dry_run: boolean) {
    setBusy(true);
    setProblem(null);
    const { mode, match, save_as } = choice;
    answered.current = asked;
    await current.current;
    try {
      started(await post<Job>(`/public/v2/jobs/${job.id}/start`, { mapping: mappingOf(choice, preview), mode, match, dry_run, save_as: save_as.trim() }));
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
      <HowRead key={preview.format} preview={preview} reading={reading.current} busy={checking} read={(how) => (current.current = read(how))} />
      <Questions many={many} preview={preview} choice={choice} change={change} />
      <Checked preview={preview} record={many === 'contacts' ? 'contact' : 'company'} busy={checking} />
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
            use={(mapping = first.mapping) => change(choiceOf(mapping, spread(mapping, preview.header), preview))}
          />
          <How many={many} choice={choice} change={change} />
        </aside>
      </div>
      {problem && <ProblemNote problem={inWords(problem)} />}
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

/** A problem without JSON pointers: its sentences name the columns. */
function inWords(problem: Problem): Problem {
  const sentences = (problem.body.errors ?? []).map((each) => each.detail);
  return sentences.length ? new Problem(problem.status, problem.code, sentences.join('; ')) : problem;
}

function looks({ format, source, header }: Preview): string {
  return `${format.toUpperCase()}, ${plural(header.length, 'column')}.${source ? ` It looks like an export of ${words(source)}.` : ''} Check what each becomes; nothing is written yet.`;
}

function readingOf({ delimiter = '', encoding = '', sheet = '', header_row = 0 }: Job['settings']): Reading {
  return { delimiter, encoding, sheet, header_row };
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
      <td dir="auto" class="first-cells">
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
      <label>
        Of several rows about one {many === 'contacts' ? 'contact' : 'company'}
        <select value={choice.repeated} onChange={(event) => change({ repeated: event.currentTarget.value as Mapping['repeated'] })}>
          <option value="first">the first value of a field counts</option>
          <option value="last">the last value of a field counts</option>
        </select>
      </label>
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
