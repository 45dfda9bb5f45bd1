/** One field over everything: pages, actions, contacts and companies. */
import { useRef, useState } from 'preact/hooks';
import { get } from '../api';
import { useRead, useRested } from '../data';
import { readPage } from '../help/pages';
import { go } from '../route';
import type { Company, Contact, Page } from '../types';
import { Icon, type IconName } from '../ui/basic';
import { Dialog } from '../ui/overlay';
import { NO_DOMAIN } from '../kinds/companies';
import { personName } from '../words';

/** Pages, views and clients that are shown above the records. */
const MOST = 20;

export interface Found {
  key: string;
  text: string;
  note: string;
  icon: IconName;
  run: () => unknown;
}

export type Screens = readonly { path: string; name: string; icon: IconName }[];

export function Palette({ screens, onClose }: { screens: Screens; onClose: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const rested = useRested(text.trim(), 120);
  const records = useRead(`found ${rested}`, (signal) => find(rested, signal));
  const listed = useRead('entries of the palette', () => import('../more'), { staleTime: Infinity });
  const index = useRead('/docs/README', (signal) => readPage('README', signal), { staleTime: Infinity });
  const words = text.trim().toLowerCase().split(/\s+/);
  const named = (entries: readonly Found[] = []) => entries.filter((each) => words.every((word) => each.text.toLowerCase().includes(word))).slice(0, MOST);
  // Acts change records: they stand below the records of the same name, and come with them.
  const acts = rested === text.trim() && !records.isFetching ? listed.data?.acts() : [];
  const others = (records.data ?? []).concat(named(acts), named(listed.data?.tools()), named(listed.data?.help(index.data ?? '')));
  const all = text.trim() ? [...named(listed.data?.entries(screens)), ...others] : [...(listed.data?.entries(screens, false) ?? []), ...(acts ?? [])];
  const chosen = Math.min(at, Math.max(0, all.length - 1));

  function pick(one: Found | undefined) {
    if (!one) return;
    // The focus goes back to where it was, on which acts of the screen may depend.
    list.current?.closest('dialog')?.close();
    one.run();
  }

  function onKey(event: KeyboardEvent) {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step && all.length) {
      event.preventDefault();
      const next = (chosen + step + all.length) % all.length;
      setAt(next);
      list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter') {
      event.preventDefault();
      pick(all[chosen]);
    }
  }

  return (
    <Dialog title="Find" bare onClose={onClose}>
      <div class="palette">
        <div class="palette-field">
          <Icon name="search" />
          <input
            autofocus
            type="text"
            role="combobox"
            aria-label="Find a contact, a company, a page or an action"
            aria-expanded="true"
            aria-controls="palette-list"
            aria-activedescendant={all.length ? `palette-${chosen}` : undefined}
            placeholder="Name, address, company, page or action"
            value={text}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => {
              setText(event.currentTarget.value);
              setAt(0);
            }}
            onKeyDown={onKey}
          />
        </div>
        <ul id="palette-list" role="listbox" aria-label="Found" ref={list}>
          {all.map((each, n) => (
            <li key={each.key} id={`palette-${n}`} role="option" aria-selected={n === chosen} onMouseMove={() => setAt(n)} onClick={() => pick(each)}>
              <Icon name={each.icon} />
              <span class="cut">{each.text}</span>
              <span class="note cut">{each.note}</span>
            </li>
          ))}
        </ul>
        {!all.length && <p class="faint">{records.isFetching || listed.isFetching ? 'Searching…' : 'Nothing has this name or address. Words are found by their beginnings.'}</p>}
        {records.error && <p class="faint">{records.error.message}</p>}
      </div>
    </Dialog>
  );
}

async function find(text: string, signal: AbortSignal): Promise<Found[]> {
  if (!text) return [];
  const query = { q: text, limit: '6' };
  const [contacts, companies] = await Promise.all([
    get<Page<Contact>>('/public/v2/contacts', query, signal),
    get<Page<Company>>('/public/v2/companies', { ...query, limit: '4' }, signal),
  ]);
  return [
    ...contacts.data.map((each) => ({
      key: `contact ${each.id}`, text: personName(each), note: each.email ?? 'Contact', icon: 'contacts' as const, run: () => go(`/contacts/${each.id}`),
    })),
    ...companies.data.map((each) => ({
      key: `company ${each.id}`, text: each.name ?? each.domain, note: each.name ? each.domain || NO_DOMAIN : 'Company', icon: 'company' as const, run: () => go(`/companies/${each.id}`),
    })),
  ];
}
