/** What the palette lists besides records: pages, actions, acts of the screen, tools, settings and help. */
import { CHANNELS, TOOLS } from '../clients/tools';
import { shortcuts, shownKeys } from '../keys';
import { makeNew } from '../record/new';
import { chooseClient, client, go, root } from '../route';
import { canWrite, choosesClient, clients, isAdmin, seesEveryClient, session, showsAll, signOut } from '../session';
import { tabs } from '../settings/tabs';
import { nextTheme } from '../theme';
import type { IconName } from '../ui/basic';
import { toastProblem } from '../ui/toast';
import type { Found, Screens } from './palette';

/** What can be done from anywhere; `?do=new` is what the screen's own button does. */
function actions(): Found[] {
  const add = (text: string, path: string, can: boolean, query = { do: 'new' }) => (can ? [{ key: text, text, note: 'Action', icon: 'plus' as const, run: () => go(path, query) }] : []);
  const create = (one: 'contact' | 'company') => (canWrite.value && !showsAll.value ? [{ key: one, text: `New ${one}`, note: 'Action', icon: 'plus' as const, run: () => makeNew(one) }] : []);
  return [
    ...create('contact'),
    ...create('company'),
    ...add('New key', '/keys', isAdmin.value),
    ...add('New client', '/clients', isAdmin.value && choosesClient.value),
    ...add('New endpoint', '/endpoints/new', isAdmin.value, { do: '' }),
    ...add('Invite somebody to the team', '/team', isAdmin.value && seesEveryClient.value),
    ...add('Block addresses', '/suppressions', canWrite.value && !showsAll.value),
    ...tabs().flatMap((each) => ('tab' in each ? [{ key: `tab ${each.tab}`, text: `Settings: ${each.name}`, note: 'Page', icon: 'settings' as const, run: () => go(each.path, { tab: each.tab }) }] : [])),
  ];
}

/** Keys that move through a list, open what is there or set one of many statuses. */
const MOVES = /^(j|k|\/|Enter|Escape|Space|Tab|Page\w+|Home|End|(Shift\+)?(Arrow\w+|\d))$/;

/** What the shortcuts of the screen do with what is selected or open. */
export function acts(): Found[] {
  const all = shortcuts.value.filter((each) => (each.group !== 'Everywhere' || each.keys === 'u') && !MOVES.test(each.keys));
  const newest = new Map(all.map((each) => [each.does, each]));
  return [...newest.values()].map(({ keys, does, group, run }) => ({ key: `act ${does}`, text: does, note: `${group} · ${shownKeys(keys)}`, icon: 'keyboard', run }));
}

/** The webhooks of each tool, and its connection to the client that is shown. */
export function tools(): Found[] {
  const of = client.value || session.value?.client_id;
  if (!isAdmin.value) return [];
  return CHANNELS.flatMap((channel) => Object.entries(TOOLS[channel]).flatMap(([tool, name]) => {
    const entry = (text: string, icon: IconName, path: string, query: Record<string, string>): Found => ({ key: `${text} ${channel}`, text, note: 'Tool', icon, run: () => go(path, query) });
    return [
      ...(of ? [entry(`Connect ${name}`, 'link', `/clients/${encodeURIComponent(of)}`, { tool: `${channel}/${tool}` })] : []),
      entry(`Webhooks of ${name}`, 'inbox', '/webhooks', { tool }),
    ];
  }));
}

/** The pages of the documentation, by its index. */
export function help(index: string): Found[] {
  return [...index.matchAll(/^- \[([^\]]+)\]\(([\w/-]+)\.md\)/gm)].map(([, title = '', page = '']) => ({ key: page, text: title, note: 'Help', icon: 'book', run: () => go('/help', { page }) }));
}

/** Pages, actions and settings; clients only among what is searched. */
export function entries(screens: Screens, hasClients = true): Found[] {
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
