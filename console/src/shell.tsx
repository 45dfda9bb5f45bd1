/** What is around every screen: navigation, the client, the theme, the palette and the list of shortcuts. */
import { computed, signal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { announced, useTitle } from './title';
import { reachable } from './api';
import { isMac, shortcuts, shownKeys, useShortcuts } from './keys';
import { narrow } from './narrow';
import { Palette } from './palette/palette';
import { chooseClient, client, go, href, place } from './route';
import { helpOf } from './help/pages';
import { reverting } from './history/open';
import { canRead, canWrite, choosesClient, clients, isAdmin, session, signOut } from './session';
import { makeNew, NewRecord } from './record/new';
import { SettingsTabs } from './settings/tabs';
import { useSnoozeEnds } from './replies/snooze';
import { nextTheme, theme } from './theme';
import { addressOf, beginningOf, keyOf, readViews, savedViews } from './grid/saved';
import { readLooks } from './looks';
import { follow } from './stream';
import { Button, Empty, Icon, Keys, type IconName } from './ui/basic';
import { Conflict } from './ui/conflict';
import { Dialog, Entry, Popover } from './ui/overlay';
import { toastProblem, undoLast } from './ui/toast';
import { count } from './words';

export const paletteOpen = signal(false);
export const helpOpen = signal(false);

interface Section {
  path: string;
  first: string | undefined;
  name: string;
  icon: IconName;
  keys: string;
  needsAdmin?: boolean;
  /** Whether it is a tab of Settings, not an entry of the navigation. */
  isTab?: boolean;
  /** Whether a group of screens begins with it. */
  begins?: boolean;
}

export const SECTIONS: readonly Section[] = [
  { path: '/', first: undefined, name: 'Overview', icon: 'overview', keys: 'g o' },
  { path: '/replies', first: 'replies', name: 'Replies', icon: 'reply', keys: 'g r' },
  { path: '/tasks', first: 'tasks', name: 'Tasks', icon: 'check', keys: 'g t' },
  { path: '/contacts', first: 'contacts', name: 'Contacts', icon: 'contacts', keys: 'g c' },
  { path: '/companies', first: 'companies', name: 'Companies', icon: 'company', keys: 'g f' },
  { path: '/reports', first: 'reports', name: 'Reports', icon: 'board', keys: 'g p' },
  { path: '/imports', first: 'imports', name: 'Imports', icon: 'upload', keys: 'g m' },
  { path: '/suppressions', first: 'suppressions', name: 'Do not contact', icon: 'ban', keys: 'g d' },
  { path: '/history', first: 'history', name: 'History', icon: 'replay', keys: 'g h' },
  { path: '/bin', first: 'bin', name: 'Bin', icon: 'undo', keys: 'g b' },
  { path: '/webhooks', first: 'webhooks', name: 'Webhooks', icon: 'inbox', keys: 'g i', needsAdmin: true, begins: true },
  { path: '/clients', first: 'clients', name: 'Clients', icon: 'link', keys: 'g l', needsAdmin: true },
  { path: '/endpoints', first: 'endpoints', name: 'Endpoints', icon: 'outgoing', keys: 'g u', needsAdmin: true },
  { path: '/settings', first: 'settings', name: 'Settings', icon: 'settings', keys: 'g s' },
  { path: '/team', first: 'team', name: 'Team', icon: 'contacts', keys: 'g y', isTab: true },
  { path: '/keys', first: 'keys', name: 'Keys', icon: 'key', keys: 'g k', isTab: true, needsAdmin: true },
  { path: '/audit', first: 'audit', name: 'Audit log', icon: 'book', keys: 'g j', isTab: true, needsAdmin: true },
  { path: '/erasure', first: 'erasure', name: 'Erasure', icon: 'erase', keys: 'g e', isTab: true, needsAdmin: true },
];

/** The screens that the key may see. */
const sections = computed(() => SECTIONS.filter((each) => !each.needsAdmin || isAdmin.value));

const THEMES = { system: ['system', 'As the system'], light: ['sun', 'Light'], dark: ['moon', 'Dark'] } as const;

export function Shell({ children }: { children: ComponentChildren }) {
  useShortcuts(() => [
    { keys: 'mod+k', does: 'Find a record or a page', group: 'Everywhere', run: () => (paletteOpen.value = !paletteOpen.value) },
    { keys: '?', does: 'List the shortcuts', group: 'Everywhere', run: () => (helpOpen.value = true) },
    { keys: 'g a', does: 'Choose a client, or all', group: 'Everywhere', run: () => document.querySelector<HTMLElement>('.side button.client')?.click() },
    ...sections.value.map((each) => ({ keys: each.keys, does: `Go to ${each.name}`, group: 'Everywhere', run: () => go(each.path, beginning(each)) })),
    { keys: 'c', does: 'New contact', group: 'Everywhere', run: () => makeNew('contact') },
    { keys: 'u', does: 'Undo your last change', group: 'Everywhere', run: () => undoLast() || void import('./more').then((all) => all.revertMyLast(), toastProblem) },
    { keys: 'F1', does: 'Help for this screen', group: 'Everywhere', run: () => document.querySelector<HTMLElement>('.foot a[aria-label^=Help]')?.click() },
    { keys: 'T', does: 'Change between light and dark', group: 'Everywhere', run: nextTheme },
  ]);
  useEffect(() => (canRead.value ? (void readLooks(), follow()) : undefined), [canRead.value]);
  useEffect(() => (canRead.value ? void readViews() : undefined), [canRead.value, client.value]);
  useSnoozeEnds();
  const first = sectionOf(place.value.path[0], place.value.query);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <p class="hidden" aria-live="polite">{announced}</p>
      <header class="side">
        <div class="brand">
          <a href={href('/')} class="name">
            Touchbase
          </a>
          <Button kind="quiet" icon="search" label={`Find (${isMac ? '⌘' : 'Ctrl'} K)`} onClick={() => (paletteOpen.value = true)} />
        </div>
        <ClientSwitch />
        <Navigation first={first} />
        <Foot />
      </header>
      <div class="content">
        {!reachable.value && (
          <p class="banner" role="alert">
            <Icon name="warning" /> The server does not answer; it is asked again and again. What you see may be old, and what you type stays.
          </p>
        )}
        {children}
      </div>
      {paletteOpen.value && <Palette screens={sections.value} onClose={() => (paletteOpen.value = false)} />}
      {helpOpen.value && <Help />}
      <NewRecord />
      <Revert />
      <Conflict />
    </div>
  );
}

/** The revert of a change, loaded when it is first wanted. */
function Revert() {
  const [Loaded, set] = useState<ComponentType | null>(null);
  const isWanted = reverting.value !== null;
  useEffect(() => {
    if (isWanted && !Loaded) void import('./more').then((all) => set(() => all.Reverting), toastProblem);
  }, [isWanted]);
  return isWanted && Loaded ? <Loaded /> : null;
}

/** Sections that stay in sight on a narrow page, the most needed first. */
const FRONT: readonly (string | undefined)[] = [undefined, 'replies', 'contacts', 'webhooks', 'companies'];
const IN_FRONT = 4;

function Navigation({ first }: { first: string | undefined }) {
  const all = sections.value.filter((each) => !each.isTab);
  const front = narrow.value ? FRONT.map((each) => all.find((section) => section.first === each)).filter((each) => each !== undefined).slice(0, IN_FRONT) : all;
  const behind = all.filter((each) => !front.includes(each));
  const entry = SECTIONS.find((each) => each.first === first)?.isTab ? 'settings' : first;
  const current = (each: Section) => (entry === each.first ? ('page' as const) : undefined);
  return (
    <nav aria-label="Screens">
      {front.map((each) => (
        <>
          <a key={each.path} href={href(each.path, beginning(each))} class={each.begins ? 'begins' : undefined} aria-current={current(each)}>
            <Icon name={each.icon} />
            <span>{each.name}</span>
          </a>
          {!narrow.value && <SavedLinks section={each} />}
        </>
      ))}
      {behind.length > 0 && (
        <Popover text="More" icon="more" kind="quiet" class={behind.some(current) ? 'more here' : 'more'}>
          {(close) => (
            <div class="entries">
              {narrow.value && session.value?.user && (
                <a class="entry" href={href('/profile')} onClick={close}>
                  <Icon name="contacts" />
                  <span class="cut">Profile</span>
                </a>
              )}
              {narrow.value && session.value?.keys_needed && (
                <Entry icon="leave" onPick={() => void signOut().catch(toastProblem)}>
                  {signOutLabel()}
                </Entry>
              )}
              {behind.map((each) => (
                <a key={each.path} class="entry" href={href(each.path)} aria-current={current(each)} onClick={close}>
                  <Icon name={each.icon} />
                  <span class="cut">{each.name}</span>
                </a>
              ))}
              {narrow.value && (
                <a class="entry" href={helpOf(first)} onClick={close}>
                  <Icon name="book" />
                  <span class="cut">Help for this screen</span>
                </a>
              )}
            </div>
          )}
        </Popover>
      )}
    </nav>
  );
}

/** With which query a section begins: that of the person's default view. */
function beginning(section: Section) {
  return section.first === 'contacts' ? beginningOf('contact') : section.first === 'companies' ? beginningOf('company') : [];
}

/** Saved views in the sidebar; the list of views has all. */
const LISTED = 8;

function SavedLinks({ section }: { section: Section }) {
  const views = savedViews.value.filter((each) => section.first === (each.kind === 'contact' ? 'contacts' : 'companies')).slice(0, LISTED);
  return (
    <>
      {views.map((each) => {
        const query = addressOf(each);
        return query && (
          <a key={keyOf(each)} href={href(section.path, query)} class="saved-view" aria-current={place.value.query.get('view') === keyOf(each) ? 'true' : undefined}>
            <span class="cut">{each.name}</span>
          </a>
        );
      })}
    </>
  );
}

/** The section that a screen belongs to; duplicates belong to their kind of record. */
function sectionOf(first: string | undefined, query: URLSearchParams): string | undefined {
  return first === 'duplicates' ? (query.get('of') ?? 'contacts') : first;
}

function ClientSwitch() {
  const one = clients.value.find((each) => each.client_id === (client.value || session.value?.client_id));
  const shown = one?.name || client.value || session.value?.client_id || (clients.value.length ? 'All clients' : 'No client');
  if (!choosesClient.value || clients.value.length < 2) return <p class="client cut">{shown}</p>;
  return (
    <Popover text={shown} label={`Client: ${shown}`} class="client">
      {(close) => <ClientList close={close} hasAll />}
    </Popover>
  );
}

/** More entries than this are searched, not scrolled. */
const SHOWN = 50;

interface ClientListProps {
  close: () => void;
  hasAll: boolean;
  /** Whether it leaves the focus where it is. */
  waits?: boolean;
  pick?: (id: string) => void;
  chosen?: string;
}

export function ClientList({ close, hasAll, waits, chosen = client.value, pick: choose = chooseClient }: ClientListProps) {
  const [text, setText] = useState('');
  const asked = text.trim().toLowerCase();
  const found = asked ? clients.value.filter((each) => each.name.toLowerCase().includes(asked) || each.client_id.toLowerCase().includes(asked)) : clients.value;
  function pick(id: string) {
    close();
    setText('');
    choose(id);
  }
  return (
    <div class="entries">
      {clients.value.length > 8 && (
        <input
          type="search"
          autofocus={!waits}
          aria-label="Part of a client’s name or id"
          placeholder={`Search ${count(clients.value.length)} clients`}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Enter' && found[0] && pick(found[0].client_id)}
        />
      )}
      {!asked && hasAll && (
        <Entry chosen={chosen === ''} onPick={() => pick('')}>
          All clients
        </Entry>
      )}
      {found.slice(0, SHOWN).map((each) => (
        <Entry key={each.client_id} chosen={each.client_id === chosen} note={each.state === 'active' ? undefined : each.state} onPick={() => pick(each.client_id)}>
          {each.name || each.client_id}
        </Entry>
      ))}
      {found.length > SHOWN && <p class="faint">{count(found.length - SHOWN)} more: type a part of the name.</p>}
      {found.length === 0 && <p class="faint">No client has this in its name or id.</p>}
    </div>
  );
}

/** In place of a screen that belongs to one client, while all are shown; `children`: its part that belongs to all. */
export function ChooseClient({ children }: { children?: ComponentChildren }) {
  const section = SECTIONS.find((each) => each.first === sectionOf(place.value.path[0], place.value.query));
  const name = section?.name ?? 'This screen';
  const isInSettings = section?.isTab || section?.first === 'settings';
  useTitle(name);
  return (
    <main id="main" class={isInSettings ? 'screen settings' : 'screen'}>
      <header class="screen-head">
        <h1>{name}</h1>
      </header>
      {isInSettings && <SettingsTabs />}
      {children}
      {clients.value.length > 0 ? (
        <section class="choose" aria-label="Choose a client">
          <p>{children ? 'The other settings belong to one client. Which one?' : 'These belong to one client. Which one?'}</p>
          <ClientList close={() => undefined} hasAll={false} waits={Boolean(children)} />
        </section>
      ) : (
        <Empty icon="link" title="No client yet">
          {isAdmin.value ? (
            <a class="button" href={href('/clients')}>
              Create a client
            </a>
          ) : (
            <p>Put the handle of a client into the address, in place of “all”.</p>
          )}
        </Empty>
      )}
    </main>
  );
}

function Foot() {
  const known = session.value;
  const [icon, name] = THEMES[theme.value];
  return (
    <div class="foot">
      {known?.keys_needed && !canWrite.value && <p class="faint">Read only: your {known.user ? 'role' : 'key'} has no scope to write.</p>}
      <div class="row">
        <Button kind="quiet" icon={icon} label={`Theme: ${name}`} onClick={nextTheme} />
        <Button kind="quiet" icon="keyboard" label="Shortcuts (?)" onClick={() => (helpOpen.value = true)} />
        <a class="button quiet alone" href={helpOf(place.value.path[0])} aria-label="Help for this screen" title="Help for this screen (F1)" aria-current={place.value.path[0] === 'help' ? 'page' : undefined}>
          <Icon name="book" />
        </a>
        {known?.user && (
          <a class="button quiet alone" href={href('/profile')} aria-label="Profile" title="Profile" aria-current={place.value.path[0] === 'profile' ? 'page' : undefined}>
            <Icon name="contacts" />
          </a>
        )}
        {known?.keys_needed && <Button kind="quiet" icon="leave" label={signOutLabel()} onClick={() => signOut().catch(toastProblem)} />}
      </div>
    </div>
  );
}

/** `Sign out (Mira)`. */
function signOutLabel(): string {
  const { user, key_name } = session.value ?? {};
  const who = user ? user.name || user.email : key_name && `key ${key_name}`;
  return who ? `Sign out (${who})` : 'Sign out';
}

function Help() {
  const groups = new Map<string, { keys: string; does: string }[]>();
  for (const each of shortcuts.value) {
    const group = groups.get(each.group) ?? [];
    if (!group.some((known) => known.does === each.does)) group.push(each);
    groups.set(each.group, group);
  }
  return (
    <Dialog title="Shortcuts" onClose={() => (helpOpen.value = false)}>
      <div class="shortcuts">
        {[...groups].map(([name, all]) => (
          <section key={name}>
            <h3>{name}</h3>
            <dl>
              {all.map((each) => (
                <div key={each.keys}>
                  <dt>{each.does}</dt>
                  <dd>
                    <Keys of={shownKeys(each.keys)} />
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
