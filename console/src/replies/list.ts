/** The replies of a view, page by page, with the contacts who wrote them. */
import { useEffect, useRef, useState } from 'preact/hooks';
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

interface Underway {
  signal: AbortSignal;
  /** The cursor of the page that was asked for last. */
  asked?: string;
}

export interface Replies {
  found: Found | null;
  contacts: ReadonlyMap<number, Contact>;
  problem: Problem | null;
  reload: () => void;
  more: () => void;
  /** Load one contact again, after a change. */
  refresh: (id: number) => void;
}

export function useReplies(key: string, filter: Filter): Replies {
  const [found, setFound] = useState<Found | null>(null);
  const [contacts, setContacts] = useState<ReadonlyMap<number, Contact>>(new Map());
  const [problem, setProblem] = useState<Problem | null>(null);
  const [round, setRound] = useState(0);
  /** What the view shown now has on its way: a late page of another view must not come into it. */
  const current = useRef<Underway | null>(null);

  async function add(ids: readonly number[], signal?: AbortSignal) {
    if (!ids.length) return;
    const query = { 'id[in]': [...new Set(ids)].join(','), structure: 'FLAT', limit: '200' };
    const page = await get<Page<Contact>>('/public/v2/contacts', query, signal);
    setContacts((old) => new Map([...old, ...page.data.map((each) => [each.id, each] as const)]));
    void loadCompanies(page.data);
  }

  async function load(cursor: string | null, signal: AbortSignal): Promise<boolean> {
    try {
      const query = { ...filter, direction: 'received', limit: LIMIT, ...(cursor && { cursor }) };
      const page = await get<Page<Message>>('/public/v2/messages', query, signal);
      // Names and statuses come with the texts, so that nothing moves when they arrive.
      await add(page.data.map((each) => each.contact_id), signal);
      if (signal.aborted) return false;
      setFound((old) => ({ key, replies: cursor && old?.key === key ? [...old.replies, ...page.data] : page.data, next: page.next_cursor }));
      setProblem(null);
      return true;
    } catch (error) {
      if (!signal.aborted) setProblem(asProblem(error));
      return false;
    }
  }

  useEffect(() => {
    const abort = new AbortController();
    current.current = { signal: abort.signal };
    void load(null, abort.signal);
    return () => abort.abort();
  }, [key, round]);

  /** Load the next page, once, however often it is asked for; after a failure again. */
  function more(): void {
    const view = current.current;
    if (!view || !found?.next || found.key !== key || view.asked === found.next) return;
    view.asked = found.next;
    void load(found.next, view.signal).then((arrived) => arrived || delete view.asked);
  }

  return {
    found: found?.key === key ? found : null,
    contacts,
    problem,
    reload: () => setRound((n) => n + 1),
    more,
    refresh: (id) => void add([id]).catch((error: unknown) => setProblem(asProblem(error))),
  };
}
