/** Drafts of answers: in the tab at once, and a moment later on the server, so that any browser of the person goes on with them. */
import { call } from '../api';
import { session } from '../session';
import { keyOf, pathOf, type Conversation } from './conversations';

const NAME = 'draft ';
const REST = 800;
/** Drafts that are not on the server yet, by conversation. */
const waiting = new Map<string, { timer: number; save: () => Promise<unknown> }>();
/** The request that stores a draft now, by conversation. */
const saving = new Map<string, Promise<unknown>>();

/** The text of this tab that the server does not have yet; null: there is none. */
export function kept(key: string): string | null {
  try {
    return sessionStorage.getItem(NAME + key);
  } catch {
    return null; // a browser that stores nothing
  }
}

/** Store the text in this tab; null removes it. */
export function put(key: string, text: string | null): void {
  try {
    if (text === null) sessionStorage.removeItem(NAME + key);
    else sessionStorage.setItem(NAME + key, text);
  } catch {
    // The text stays in the field.
  }
}

export function keep(conversation: Conversation, text: string): void {
  const key = keyOf(conversation);
  put(key, text || session.value?.user ? text : null);
  if (!session.value?.user) return;
  clearTimeout(waiting.get(key)?.timer);
  const save = () => {
    waiting.delete(key);
    // One after another, or an earlier text may come last. What the server refuses stays in the tab.
    const request = (saving.get(key) ?? Promise.resolve()).then(() => call('PUT', `${pathOf(conversation)}/draft`, { body: { text } }));
    const stored = request.then(() => kept(key) === text && put(key, null), () => undefined);
    saving.set(key, stored);
    return stored;
  };
  waiting.set(key, { timer: window.setTimeout(() => void save(), REST), save });
}

/** Store now what waits, such as when the composer closes. */
export function saveDraft(key: string): Promise<unknown> {
  const next = waiting.get(key);
  clearTimeout(next?.timer);
  return next ? next.save() : (saving.get(key) ?? Promise.resolve());
}

/** Forget a draft whose text the server has taken as an answer: it has removed its own. */
export function forget(key: string): void {
  clearTimeout(waiting.get(key)?.timer);
  waiting.delete(key);
  put(key, null);
}
