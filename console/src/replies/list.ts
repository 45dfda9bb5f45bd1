/** The replies of a view, page by page, with the contacts who wrote them. */
import { useEffect, useState } from 'preact/hooks';
import { asProblem, get, type Problem } from '../api';
import { loadCompanies } from '../kinds/companies';
import type { Contact, Message, Page } from '../types';

const LIMIT = '50';

export type Filter = Record<string, string>;

interface Found {
  key: string;
  replies: Message[];
  next: string | null;
}

export interface Replies {
  found: Found | null;
  contacts: ReadonlyMap<number, Contact>;
  problem: Problem | null;
  reload: () => void;
  more: () => Promise<void>;
  /** Load one contact again, after a change. */
  refresh: (id: number) => void;
}

export function useReplies(key: string, filter: Filter): Replies {
  const [found, setFound] = useState<Found | null>(null);
  const [contacts, setContacts] = useState<ReadonlyMap<number, Contact>>(new Map());
  const [problem, setProblem] = useState<Problem | null>(null);
  const [round, setRound] = useState(0);

  async function add(ids: readonly number[], signal?: AbortSignal) {
    if (!ids.length) return;
    const query = { 'id[in]': [...new Set(ids)].join(','), structure: 'FLAT', limit: '200' };
    const page = await get<Page<Contact>>('/public/v2/contacts', query, signal);
    setContacts((old) => new Map([...old, ...page.data.map((each) => [each.id, each] as const)]));
    void loadCompanies(page.data);
  }

  async function load(cursor: string | null, signal?: AbortSignal) {
    try {
      const query = { ...filter, direction: 'received', limit: LIMIT, ...(cursor && { cursor }) };
      const page = await get<Page<Message>>('/public/v2/messages', query, signal);
      // Names and statuses come with the texts, so that nothing moves when they arrive.
      await add(page.data.map((each) => each.contact_id), signal);
      setFound((old) => ({ key, replies: cursor && old?.key === key ? [...old.replies, ...page.data] : page.data, next: page.next_cursor }));
      setProblem(null);
    } catch (error) {
      if (!signal?.aborted) setProblem(asProblem(error));
    }
  }

  useEffect(() => {
    const abort = new AbortController();
    void load(null, abort.signal);
    return () => abort.abort();
  }, [key, round]);

  return {
    found: found?.key === key ? found : null,
    contacts,
    problem,
    reload: () => setRound((n) => n + 1),
    more: async () => (found?.next ? load(found.next) : undefined),
    refresh: (id) => void add([id]).catch((error: unknown) => setProblem(asProblem(error))),
  };
}
