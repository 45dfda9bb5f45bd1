/** Pages of the documentation, which the server has: their addresses in the console, and the page of each screen. */
import { send } from '../api';
import { href } from '../route';

const USE = 'how-to/use-the-console';
/** The page, or its place, that says how a screen is used; the screen by the first part of its path. */
const OF_SCREEN: Readonly<Record<string, string>> = {
  '': `${USE}#begin-the-day`,
  replies: `${USE}#work-through-replies`,
  tasks: `${USE}#write-and-do-tasks`,
  contacts: `${USE}#find-and-change-contacts-and-companies`,
  companies: `${USE}#find-and-change-contacts-and-companies`,
  duplicates: 'how-to/merge-two-people',
  bin: 'how-to/delete-and-restore#restore',
  history: 'how-to/take-back-a-change',
  reports: 'how-to/answer-the-weekly-questions',
  imports: 'how-to/import-a-list',
  suppressions: 'how-to/do-not-contact',
  webhooks: `${USE}#see-what-tools-send`,
  clients: `${USE}#connect-tools`,
  endpoints: 'how-to/receive-events',
  keys: 'how-to/manage-clients-and-keys',
  team: 'how-to/let-your-team-sign-in',
  profile: 'how-to/let-your-team-sign-in',
  audit: 'how-to/let-your-team-sign-in',
  settings: `${USE}#make-keys-change-settings`,
  erasure: 'how-to/erase-a-person',
};

/** The address of a page in the console, such as `how-to/import-a-list#from-csv`; empty: the index. */
export function helpAddress(page: string): string {
  const [path = '', anchor] = page.replace(/\.md(?=#|$)/, '').split('#');
  return href('/help', { page: path }) + (anchor ? `#${anchor}` : '');
}

export function helpOf(screen: string | undefined): string {
  return helpAddress(OF_SCREEN[screen ?? ''] ?? '');
}

/** Read the Markdown of a page. */
export async function readPage(path: string, signal: AbortSignal): Promise<string> {
  return (await send('GET', `/docs/${path}.md`, { signal })).text();
}
