/** The custom fields of a client with their use: define, rename, merge, type and remove them. */
import { useState } from 'preact/hooks';
import { getOf } from '../clients/requests';
import { useRead } from '../data';
import { definesFields } from '../session';
import type { Page } from '../types';
import { Button, Empty, LoadProblem, Skeleton, Time } from '../ui/basic';
import { Entry, Popover } from '../ui/overlay';
import { plural } from '../words';
import { FieldDialog, type Change } from './field-dialog';
import { KindSwitch } from './kind-switch';
import type { FieldRow, Kind } from './types';

const SHOWN = 50;
const CHANGES: readonly (readonly [Change, string])[] = [
  ['rename', 'Rename…'],
  ['type', 'Set the type…'],
  ['merge', 'Merge into another…'],
  ['remove', 'Remove…'],
];

/** All pages: there are few. */
async function readAll(client: string, kind: Kind, signal: AbortSignal): Promise<FieldRow[]> {
  const found: FieldRow[] = [];
  let cursor: string | null = '';
  do {
    const page: Page<FieldRow> = await getOf<Page<FieldRow>>(client, `/public/v2/custom-fields/${kind}`, { limit: '200', ...(cursor && { cursor }) }, signal);
    found.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor && found.length < 2000);
  return found;
}

export function Fields({ client }: { client: string }) {
  const [kind, setKind] = useState<Kind>('contacts');
  const [text, setText] = useState('');
  const [most, setMost] = useState(SHOWN);
  const [opened, setOpened] = useState<{ what: Change | 'define'; of: FieldRow | null } | null>(null);
  const loaded = useRead(`/public/v2/custom-fields/${kind} of ${client}`, (signal) => readAll(client, kind, signal));
  const all = loaded.data ?? [];
  const found = all.filter((each) => `${each.name} ${each.former_names.join(' ')}`.toLowerCase().includes(text.trim().toLowerCase()));
  return (
    <section class="panel" aria-labelledby="fields">
      <header class="row">
        <h2 id="fields">Custom fields</h2>
        <KindSwitch kind={kind} onPick={setKind} />
        <span class="push" />
        <input class="narrow-search" type="search" aria-label="Part of a field’s name" placeholder="Part of a name" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        {definesFields.value && (
          <Button icon="plus" onClick={() => setOpened({ what: 'define', of: null })}>
            Define a field
          </Button>
        )}
      </header>
      <LoadProblem of={loaded} />
      {!loaded.data && !loaded.error && <Skeleton lines={6} wide={100} />}
      {loaded.data && all.length === 0 && (
        <Empty icon="columns" title="No custom field yet">
          <p>A field comes into being with the first request, import or webhook that names it. Define one to give it a type.</p>
        </Empty>
      )}
      {all.length > 0 && found.length === 0 && <p class="faint">No field has this in its name.</p>}
      <ul class="lines" aria-label="Custom fields">
        {found.slice(0, most).map((each) => (
          <li key={each.id} class="line-of short">
            <div class="what">
              <b dir="auto">{each.name}</b>
              <span class="faint">
                {each.type}
                {each.options.length > 0 && ` of ${plural(each.options.length, 'option')}`}
                {!each.defined && ', not defined'}
                {each.former_names.length > 0 && `; was ${each.former_names.join(', ')}`}
              </span>
            </div>
            <span>
              {plural(each.records, 'record')}
              {each.last_changed && (
                <span class="faint">
                  , changed <Time at={each.last_changed} as="ago" />
                </span>
              )}
            </span>
            {definesFields.value && (
              <div class="tools">
                <Popover text="Change" label={`Change the field ${each.name}`}>
                  {(close) => (
                    <div class="entries">
                      {CHANGES.map(([what, name]) => (
                        <Entry
                          key={what}
                          onPick={() => {
                            close();
                            setOpened({ what, of: each });
                          }}
                        >
                          {name}
                        </Entry>
                      ))}
                    </div>
                  )}
                </Popover>
              </div>
            )}
          </li>
        ))}
      </ul>
      {found.length > most && <Button onClick={() => setMost(most + SHOWN)}>Show more</Button>}
      {opened && <FieldDialog client={client} kind={kind} all={all} {...opened} onClose={() => setOpened(null)} onDone={loaded.refetch} />}
    </section>
  );
}
