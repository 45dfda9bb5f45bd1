/** The fields of a contact, each with where it came from; each can be changed in its place. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, type Problem } from '../api';
import { href } from '../route';
import { canWrite, isAdmin } from '../session';
import { companies } from '../contacts/rows';
import type { Contact, Explained, Setter } from '../types';
import { Button, Time } from '../ui/basic';
import { toolName, words } from '../words';
import { change, type Known } from './screen';

const NAMES: Record<string, string> = {
  email: 'E-mail', linkedin_url: 'LinkedIn', external_id: 'External id', company_id: 'Company', first_campaign_email_sent: 'First mailed',
  last_campaign_email_sent: 'Last mailed', last_reply_received: 'Last reply',
};
const EDITABLE = ['first_name', 'last_name', 'email', 'linkedin_url', 'origin', 'external_id'];
const TIMES = ['first_campaign_email_sent', 'last_campaign_email_sent', 'last_reply_received'];
const ORDER = ['first_name', 'last_name', 'email', 'linkedin_url', 'company_id', ...TIMES, 'origin', 'external_id'];

export function Fields({ known, reload }: { known: Known; reload: () => void }) {
  const { contact, explained } = known;
  const by = new Map(explained.map((each) => [each.field, each]));
  const custom = Object.keys(contact.contact_custom_fields).sort((a, b) => a.localeCompare(b));
  return (
    <section class="fields" aria-labelledby="fields">
      <h2 id="fields">Fields</h2>
      <dl>
        {ORDER.map((name) => (
          <Field key={name} name={name} label={NAMES[name] ?? words(name)} contact={contact} explained={by.get(name)} reload={reload} />
        ))}
        {custom.map((name) => (
          <Field key={`cf.${name}`} name={`cf.${name}`} label={name} contact={contact} explained={by.get(`cf.${name}`)} reload={reload} />
        ))}
      </dl>
      <p class="faint">
        Id {contact.id}, changed <Time at={contact.updated_time} as="ago" />
      </p>
    </section>
  );
}

interface FieldProps {
  name: string;
  label: string;
  contact: Contact;
  explained: Explained | undefined;
  reload: () => void;
}

function valueOf(contact: Contact, name: string): string {
  if (name.startsWith('cf.')) return String(contact.contact_custom_fields[name.slice(3)] ?? '');
  const found: unknown = contact[name as keyof Contact];
  return found === undefined || found === null ? '' : String(found);
}

/** The body of a change of one field; an empty text unsets it. */
function bodyOf(name: string, value: string): object {
  if (name.startsWith('cf.')) return { contact_custom_fields_input: [{ field_name: name.slice(3), field_value: value === '' ? null : value }] };
  return { [name]: value };
}

function Field({ name, label, contact, explained, reload }: FieldProps) {
  const [editing, setEditing] = useState(false);
  const button = useRef<HTMLSpanElement>(null);
  const value = valueOf(contact, name);
  const can = canWrite.value && (EDITABLE.includes(name) || name.startsWith('cf.'));
  if (!value && !can && !TIMES.includes(name)) return null;
  function done() {
    setEditing(false);
    requestAnimationFrame(() => button.current?.querySelector('button')?.focus());
  }
  return (
    <div class="field">
      <dt>{label}</dt>
      <dd>
        {editing ? (
          <Editor name={name} label={label} value={value} contact={contact} reload={reload} done={done} />
        ) : (
          <span class="value" ref={button}>
            <span class="text">
              <Shown name={name} value={value} />
            </span>
            {can && <Button kind="quiet" icon="edit" label={`Change ${label}`} onClick={() => setEditing(true)} />}
          </span>
        )}
        {explained?.set_by && value && <Source by={explained.set_by} others={explained.others_total} />}
      </dd>
    </div>
  );
}

function Shown({ name, value }: { name: string; value: string }) {
  if (!value) return <span class="absent">–</span>;
  if (TIMES.includes(name)) return <Time at={value} />;
  if (name === 'company_id') {
    const found = companies.value.get(Number(value));
    return <a href={href('/contacts', { company_id: value })}>{found ? found.name || found.domain : `Company ${value}`}</a>;
  }
  if (name === 'linkedin_url' && /^https:\/\/([a-z]+\.)?linkedin\.com\//.test(value)) {
    return (
      <a href={value} target="_blank" rel="noreferrer noopener">
        {value.replace(/^https:\/\/(www\.)?/, '')}
      </a>
    );
  }
  return <>{value}</>;
}

/** Who set a value, and when. */
export function Source({ by, others = 0, timed = true }: { by: Setter; others?: number; timed?: boolean }) {
  const text = (
    <>
      {toolName(by.tool)}
      {by.campaign && `, ${by.campaign}`}
      {timed && (
        <>
          , <Time at={by.occurred_at} />
        </>
      )}
      {others > 0 && ` (${others} other${others === 1 ? '' : 's'} came without effect)`}
    </>
  );
  if (by.delivery_id === null || !isAdmin.value) return <span class="source">{text}</span>;
  return (
    <a class="source" href={href(`/inbox/${by.delivery_id}`)}>
      {text}
    </a>
  );
}

interface EditorProps extends Omit<FieldProps, 'explained'> {
  value: string;
  done: () => void;
}

function Editor({ name, label, value, contact, reload, done }: EditorProps) {
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
      await change(contact, bodyOf(name, text.trim()), bodyOf(name, value), `${label} ${text.trim() ? 'changed' : 'removed'}.`, reload);
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
      <Button type="submit" kind="main" icon="check" label="Save" busy={busy} />
      <Button kind="quiet" icon="close" label="Cancel" onClick={done} />
      {problem && (
        <p id="field-problem" class="wrong" role="alert">
          {problem.message}
        </p>
      )}
    </form>
  );
}
