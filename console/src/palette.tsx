/** One field over everything: pages, actions, contacts and companies. */
import { useRef, useState } from 'preact/hooks';
import { get } from './api';
import { CHANNELS, TOOLS } from './clients/tools';
import { useRead, useRested } from './data';
import { readPage } from './help/pages';
import { makeNew } from './record/new';
import { chooseClient, client, go, root } from './route';
import { canWrite, choosesClient, clients, isAdmin, seesEveryClient, session, showsAll, signOut } from './session';
import { nextTheme } from './theme';
import type { Company, Contact, Page } from './types';
import { Icon, type IconName } from './ui/basic';
import { Dialog } from './ui/overlay';
import { toastProblem } from './ui/toast';
import { NO_DOMAIN } from './kinds/companies';
import { personName } from './words';

/** Pages, views and clients that are shown above the records. */
const MOST = 20;

interface Found {
  key: string;
  text: string;
  note: string;
  icon: IconName;
  run: () => unknown;
}

type Screens = readonly { path: string; name: string; icon: IconName }[];

export function Palette({ screens, onClose }: { screens: Screens; onClose: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const rested = useRested(text.trim(), 120);
  const records = useRead(`found ${rested}`, (signal) => find(rested, signal));
  const index = useRead('/docs/README', (signal) => readPage('README', signal), { staleTime: Infinity });
  const words = text.trim().toLowerCase().split(/\s+/);
  const named = (entries: readonly Found[]) => entries.filter((each) => words.every((word) => each.text.toLowerCase().includes(word))).slice(0, MOST);
  const all = text.trim() ? [...named(entries(screens)), ...(records.data ?? []), ...named([...tools(), ...help(index.data ?? '')])] : entries(screens, false);
  const chosen = Math.min(at, Math.max(0, all.length - 1));

  function pick(one: Found | undefined) {
    if (!one) return;
    onClose();
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
        {!all.length && <p class="faint">{records.isFetching ? 'Searching…' : 'Nothing has this name or address. Words are found by their beginnings.'}</p>}
        {records.error && <p class="faint">{records.error.message}</p>}
      </div>
    </Dialog>
  );
}

/** What can be done from anywhere; `?do=new` is what the screen's own button does. */
function actions(): Found[] {
  const add = (text: string, path: string, can: boolean, query = { do: 'new' }) => (can ? [{ key: text, text, note: 'Action', icon: 'plus' as const, run: () => go(path, query) }] : []);
  const create = (one: 'contact' | 'company') => (canWrite.value && !showsAll.value ? [{ key: one, text: `New ${one}`, note: 'Action', icon: 'plus' as const, run: () => makeNew(one) }] : []);
  const settings = (text: string, tab: string): Found => ({ key: text, text, note: 'Settings', icon: 'settings', run: () => go('/settings', { tab }) });
  return [
    ...create('contact'),
    ...create('company'),
    ...add('New key', '/keys', isAdmin.value),
    ...add('New client', '/clients', isAdmin.value && choosesClient.value),
    ...add('New endpoint', '/endpoints/new', isAdmin.value, { do: '' }),
    ...add('Invite somebody to the team', '/team', isAdmin.value && seesEveryClient.value),
    ...add('Block addresses', '/suppressions', canWrite.value && !showsAll.value),
    settings('Statuses', 'statuses'),
    settings('Custom fields', 'fields'),
  ];
}

/** Tools to connect to the client that is shown. */
function tools(): Found[] {
  const of = client.value || session.value?.client_id;
  if (!isAdmin.value || !of) return [];
  return CHANNELS.flatMap((channel) => Object.entries(TOOLS[channel]).map(([tool, name]) => ({
    key: `${channel}/${tool}`, text: `Connect ${name}`, note: 'Tool', icon: 'link' as const, run: () => go(`/clients/${encodeURIComponent(of)}`, { tool: `${channel}/${tool}` }),
  })));
}

/** The pages of the documentation, by its index. */
function help(index: string): Found[] {
  return [...index.matchAll(/^- \[([^\]]+)\]\(([\w/-]+)\.md\)/gm)].map(([, title = '', page = '']) => ({ key: page, text: title, note: 'Help', icon: 'book', run: () => go('/help', { page }) }));
}

/** Pages, actions and settings; clients only among what is searched. */
function entries(screens: Screens, hasClients = true): Found[] {
  const pages = screens.map((each) => ({
    key: each.path, text: each.name, note: 'Page', icon: each.icon, run: () => go(each.path),
  }));
  const others: Found[] = [
    { key: 'replied', text: 'Contacts who replied in the last 7 days', note: 'View', icon: 'reply', run: () => go('/contacts', { 'last_reply_received[gte]': '7d', sort: '-last_reply_received' }) },
    { key: 'duplicates', text: 'Duplicates of contacts', note: 'Page', icon: 'merge', run: () => go('/duplicates') },
    { key: 'duplicate companies', text: 'Duplicates of companies', note: 'Page', icon: 'merge', run: () => go('/duplicates', { of: 'companies' }) },
    { key: 'theme', text: 'Change between light and dark', note: 'Setting', icon: 'moon', run: nextTheme },
    { key: 'api', text: 'The API', note: 'Page', icon: 'book', run: () => void open(`${root}/docs`, '_blank', 'noreferrer') },
  ];
  if (session.value?.keys_needed) others.push({ key: 'leave', text: 'Sign out', note: session.value.key_name && `Key ${session.value.key_name}`, icon: 'leave', run: () => signOut().catch(toastProblem) });
  const named = !hasClients || clients.value.length < 2 ? [] : clients.value.map((each) => ({
    key: `client ${each.client_id}`, text: each.name || each.client_id, note: 'Client', icon: 'company' as const, run: () => chooseClient(each.client_id),
  }));
  return [...pages, ...actions(), ...named, ...others];
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
