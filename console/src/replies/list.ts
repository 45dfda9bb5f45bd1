/** The replies of a view, page by page, with the contacts who wrote them. */
import { keepPreviousData } from '@tanstack/preact-query';
import { get, type Problem } from '../api';
import { usePages, useRead } from '../data';
import { loadCompanies } from '../kinds/companies';
import type { Contact, Message, Page } from '../types';

const LIMIT = '50';
const READ = 200;

export type Filter = Record<string, string>;

export interface Replies {
  replies: readonly Message[] | undefined;
  hasMore: boolean;
  contacts: ReadonlyMap<number, Contact>;
  problem: Problem | null;
  reload: () => void;
  more: () => void;
}

async function readContacts(ids: readonly number[], signal: AbortSignal): Promise<Map<number, Contact>> {
  const found = new Map<number, Contact>();
  for (let at = 0; at < ids.length; at += READ) {
    const query = { 'id[in]': ids.slice(at, at + READ).join(','), structure: 'FLAT', limit: String(READ) };
    const page = await get<Page<Contact>>('/public/v2/contacts', query, signal);
    page.data.forEach((each) => found.set(each.id, each));
  }
  void loadCompanies([...found.values()]);
  return found;
}

export function useReplies(filter: Filter): Replies {
  const pages = usePages<Message>('/public/v2/messages', { ...filter, direction: 'received', limit: LIMIT });
  const ids = [...new Set(pages.data?.map((each) => each.contact_id))];
  const contacts = useRead(`/public/v2/contacts?id[in]=${ids}`, (signal) => readContacts(ids, signal), { placeholderData: keepPreviousData, enabled: ids.length > 0 });
  const known = contacts.data;
  // Names and statuses come with the texts, so that nothing moves when they arrive.
  const isShown = ({ contact_id: id }: Message) => contacts.error !== null || (known?.has(id) ?? false) || !contacts.isPlaceholderData;
  const isReady = ids.length === 0 || known !== undefined || contacts.error !== null;
  return {
    replies: isReady ? pages.data?.filter(isShown) : undefined,
    hasMore: pages.hasMore,
    contacts: known ?? new Map(),
    problem: pages.error ?? contacts.error,
    reload: () => {
      pages.refetch();
      void contacts.refetch();
    },
    more: pages.more,
  };
}
