/** Snippets in the composer: `/` and the beginning of a name. */
import { useGet } from '../data';
import { session } from '../session';
import type { Schemas } from '../types';
import type { Conversation } from './conversations';

export type Snippet = Schemas['SnippetOut'];
const MOST = 6;

/** Replace the fields by what they stand for; the server refuses an answer with one that stands for nothing. */
function filled(text: string, { contact }: Conversation): string {
  const values: Record<string, unknown> = { ...contact, my_name: session.value?.user?.name };
  return text.replace(/\{\{\s*(first_name|last_name|company_name|email|my_name)\s*\}\}/g, (field, name: string) => String(values[name] || field));
}

/** The snippets that fit what stands behind the last `/` before the caret, and the text with one of them in its place. */
export function useSnippets(conversation: Conversation, text: string, caret: number) {
  const all = useGet<Schemas['SnippetList']>('/team/v1/snippets').data?.data ?? [];
  const typed = /(?:^|\s)\/([^\s/]*)$/.exec(text.slice(0, caret));
  if (!typed) return { found: [], insert: () => ({ text, caret }) };
  const name = (typed[1] ?? '').toLowerCase();
  const start = caret - (typed[1] ?? '').length - 1;
  return {
    found: all.filter((snippet) => snippet.name.toLowerCase().startsWith(name)).slice(0, MOST),
    insert(snippet: Snippet) {
      const words = filled(snippet.text, conversation);
      return { text: text.slice(0, start) + words + text.slice(caret), caret: start + words.length };
    },
  };
}
