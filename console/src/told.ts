/** Notifications of the person who is signed in, while the console is open. */
import { get } from './api';
import { session } from './session';
import { listeners } from './stream';
import type { Page, Schemas } from './types';

type Told = Schemas['NotificationOut'];
/** The worker looks for events each second. */
const WAIT = 2500;
let timer: number | undefined;
/** What this tab has seen; the first look shows nothing. */
let seen: Set<string> | null = null;

async function look(): Promise<void> {
  const found = await get<Page<Told>>('/team/v1/notifications', { unread: 'true', limit: '20' }).catch(() => null);
  if (!found) return;
  const keyOf = (told: Told) => `${told.client_id} ${told.id}`;
  for (const told of seen ? found.data.filter((each) => each.browser && !seen?.has(keyOf(each))) : []) new Notification('Touchbase', { body: told.text, tag: keyOf(told) });
  seen = new Set(found.data.map(keyOf));
}

function onEvents(): void {
  const wanted = session.value?.user && 'Notification' in window && Notification.permission === 'granted';
  if (!wanted) return;
  clearTimeout(timer);
  if (seen === null) void look();
  timer = window.setTimeout(() => void look(), WAIT);
}
listeners.add(onEvents);
