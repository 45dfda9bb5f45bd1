/** The fields of a record, each with where it came from; each can be changed in its place. */
import { signal } from '@preact/signals';
import { Fragment } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, type Problem } from '../api';
import { memberName, valueOf, type AnyRecord, type Kind } from '../kinds/kind';
import { useShortcuts } from '../keys';
import { canWrite } from '../session';
import type { Contact, Explained, Suppression } from '../types';
import { Button, Keys, Time } from '../ui/basic';
import { isAsked } from '../ui/conflict';
import { plural } from '../words';
import { change } from './change';
import { Emails } from './emails';
import { Source } from './source';
import { Why, WhyButton } from './why';

export interface Known<R> {
  record: R;
  explained: Explained[];
  /** Further LinkedIn profiles of a contact. */
  profiles: readonly string[];
  suppression: Suppression;
}

interface FieldsProps<R extends AnyRecord> {
  kind: Kind<R>;
  known: Known<R>;
}

const STORED = 'touchbase-sources';
/** Whether where values come from is always shown, and not of the field alone that is pointed at. */
const pinned = signal(localStorage.getItem(STORED) !== null);

function togglePinned(): void {
  pinned.value = !pinned.value;
  if (pinned.value) localStorage.setItem(STORED, '');
  else localStorage.removeItem(STORED);
}

export function Fields<R extends AnyRecord>({ kind, known }: FieldsProps<R>) {
  const { record, explained, profiles } = known;
  const by = new Map(explained.map((each) => [each.field, each]));
  const custom = Object.keys(kind.customOf(record)).sort((a, b) => a.localeCompare(b));
  useShortcuts(() => [{ keys: 'y', does: 'Show or hide where all values come from', group: kind.title, run: togglePinned }]);
  const names = [...kind.members, ...custom.map((name) => `cf.${name}`)];
  const isEmpty = (name: string) => !valueOf(kind, record, name) && !kind.always.includes(name);
  const fieldOf = (name: string) => <Field kind={kind} name={name} label={memberName(name)} record={record} explained={by.get(name)} />;
  const empty = names.filter((name) => isEmpty(name) && isText(kind, name));
  return (
    <section class={`fields ${pinned.value ? 'pinned' : ''}`} aria-labelledby="fields">
      <div class="row">
        <h2 id="fields">Fields</h2>
        <span class="push" />
        <Button kind="quiet" aria-pressed={pinned.value} onClick={togglePinned}>
          Sources <Keys of="y" />
        </Button>
      </div>
      <dl>
        {names.filter((name) => !isEmpty(name)).map((name) => (
          <Fragment key={name}>
            {fieldOf(name)}
            {name === 'email' && <Emails of={record as unknown as Contact} />}
            {name === 'linkedin_url' && profiles.length > 0 && <Profiles all={profiles} />}
          </Fragment>
        ))}
      </dl>
      {empty.length > 0 && (
        <details>
          <summary>{plural(empty.length, 'empty field')}</summary>
          <dl>
            {empty.map((name) => (
              <Fragment key={name}>{fieldOf(name)}</Fragment>
            ))}
          </dl>
        </details>
      )}
      <p class="faint">
        Id {record.id}, changed <Time at={record.updated_time} as="ago" />
      </p>
    </section>
  );
}

function Profiles({ all }: { all: readonly string[] }) {
  return (
    <div class="field">
      <dt>Other LinkedIn profiles</dt>
      <dd>
        <ul>
          {all.map((each) => (
            <li key={each}>
              <a class="text" href={`https://${each}`} target="_blank" rel="noreferrer">
                {each}
              </a>
            </li>
          ))}
        </ul>
      </dd>
    </div>
  );
}

interface FieldProps<R extends AnyRecord> {
  kind: Kind<R>;
  name: string;
  label: string;
  record: R;
  explained: Explained | undefined;
}

/** Whether the person may change a text of records. */
export function isText<R extends AnyRecord>(kind: Kind<R>, name: string): boolean {
  return canWrite.value && (kind.editable.includes(name) || name.startsWith('cf.'));
}

/** The body of a change of one field; an empty text unsets it. */
export function bodyOf(one: string, name: string, value: string): object {
  if (name.startsWith('cf.')) return { [`${one}_custom_fields_input`]: [{ field_name: name.slice(3), field_value: value === '' ? null : value }] };
  return { [name]: value };
}

function Field<R extends AnyRecord>({ kind, name, label, record, explained }: FieldProps<R>) {
  const [editing, setEditing] = useState(false);
  const [why, setWhy] = useState(false);
  const button = useRef<HTMLSpanElement>(null);
  const value = valueOf(kind, record, name);
  const can = isText(kind, name);
  function done() {
    setEditing(false);
    requestAnimationFrame(() => button.current?.querySelector('button')?.focus());
  }
  return (
    <div class="field">
      <dt>{label}</dt>
      <dd>
        {editing ? (
          <Editor kind={kind} name={name} label={label} value={value} record={record} done={done} />
        ) : (
          <span class="value" ref={button}>
            <span class="text" dir="auto">
              {value && kind.show(record, name, value)}
            </span>
            {can && <Button kind="quiet" icon="edit" label={`Change ${label}`} onClick={() => setEditing(true)} />}
          </span>
        )}
        {explained && (explained.set_by || explained.others_total > 0) && (
          <p class="origin">
            {explained.set_by && value && <Source by={explained.set_by} />}
            <WhyButton of={explained} label={label} onClick={() => setWhy(true)} />
          </p>
        )}
        {why && explained && <Why of={explained} shown={value && kind.show(record, name, value)} onClose={() => setWhy(false)} />}
      </dd>
    </div>
  );
}

interface EditorProps<R extends AnyRecord> extends Omit<FieldProps<R>, 'explained'> {
  value: string;
  done: () => void;
}

function Editor<R extends AnyRecord>({ kind, name, label, value, record, done }: EditorProps<R>) {
  const [text, setText] = useState(value);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  async function save(event: Event) {
    event.preventDefault();
    if (busy) return;
    if (text.trim() === value) {
      done();
      return;
    }
    setBusy(true);
    try {
      await change(kind, record, bodyOf(kind.one, name, text.trim()), bodyOf(kind.one, name, value), `${label} ${text.trim() ? 'changed' : 'removed'}.`);
      done();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  }
  return (
    <form class="editor" onSubmit={(event) => void save(event)}>
      <input
        ref={field}
        type="text"
        aria-label={label}
        aria-invalid={problem !== null}
        aria-describedby={problem ? 'field-problem' : undefined}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') done();
        }}
      />
      <Button type="submit" kind="main" icon="check" label="Save" busy={busy && !isAsked.value} />
      <Button kind="quiet" icon="close" label="Cancel" onClick={done} />
      {problem && (
        <p id="field-problem" class="wrong" role="alert">
          {problem.message}
        </p>
      )}
    </form>
  );
}
