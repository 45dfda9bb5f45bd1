/** A contact or company made by hand. */
import { signal } from '@preact/signals';
import { useRef, useState } from 'preact/hooks';
import { call, newKey, Problem } from '../api';
import { readAgain } from '../data';
import { COMPANIES } from '../kinds/company';
import { CONTACTS } from '../kinds/contact';
import { memberName } from '../kinds/kind';
import { go, href } from '../route';
import { canWrite, showsAll } from '../session';
import { Confirm, Field } from '../ui/confirm';
import { toast } from '../ui/toast';

type Made = 'contact' | 'company';

/** The kind of the record that is being made. */
const making = signal<Made | null>(null);
const ASKED = { contact: ['first_name', 'last_name', 'email', 'linkedin_url'], company: ['name', 'domain'] } as const;

/** Ask for a new record; it belongs to the client that is shown. */
export function makeNew(one: Made): void {
  if (canWrite.value && !showsAll.value) making.value = one;
}

export function NewRecord() {
  const one = making.value;
  return one && <Form key={one} one={one} />;
}

function Form({ one }: { one: Made }) {
  const { api, path } = one === 'contact' ? CONTACTS : COMPANIES;
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [existing, setExisting] = useState<number | null>(null);
  const body = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value.trim()]).filter(([, value]) => value));
  const request = useRef({ text: '', key: '' });
  const close = () => (making.value = null);
  async function save() {
    const text = JSON.stringify(body);
    if (request.current.text !== text) request.current = { text, key: newKey() };
    setExisting(null);
    try {
      const { data } = await call<{ id: number }>('POST', api, { body, query: { on_duplicate: 'error' }, headers: { 'idempotency-key': request.current.key } });
      void readAgain(api);
      go(`${path}/${data.id}`);
      toast(`The ${one} is created.`);
    } catch (error) {
      if (error instanceof Problem) setExisting(error.body.existing_id ?? null);
      throw error;
    }
  }
  return (
    <Confirm title={`New ${one}`} action="Create" disabled={!Object.keys(body).length} run={save} onClose={close}>
      {ASKED[one].map((name, n) => (
        <Field key={name} label={memberName(name)}>
          <input type="text" autofocus={n === 0} inputMode={name === 'email' ? 'email' : 'text'} autocomplete="off" value={values[name] ?? ''} onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })} />
        </Field>
      ))}
      {existing !== null && (
        <p>
          <a href={href(`${path}/${existing}`)} onClick={close}>
            Show that {one}
          </a>
        </p>
      )}
    </Confirm>
  );
}
