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

/** The snippets that fit what stands behind the last `/` before the caret, and where this slash stands. */
export function useSnippets(conversation: Conversation, text: string, caret: number) {
  const all = useGet<Schemas['SnippetList']>('/team/v1/snippets').data?.data ?? [];
  const typed = /(?:^|\s)\/([^\s/]*)$/.exec(text.slice(0, caret))?.[1];
  const found = typed === undefined ? [] : all.filter((snippet) => snippet.name.toLowerCase().startsWith(typed.toLowerCase())).slice(0, MOST);
  return { found, start: caret - (typed ?? '').length - 1, filled: (snippet: Snippet) => filled(snippet.text, conversation) };
}
