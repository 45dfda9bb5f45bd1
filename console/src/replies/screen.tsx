/** The newest replies with their text: read, set a status by one key, go on. */
import { useEffect, useState } from 'preact/hooks';
import { useShortcuts } from '../keys';
import { useGet } from '../data';
import { keep, kept } from '../kept';
import { client, go, href, place, root } from '../route';
import { canWrite, isAdmin } from '../session';
import { arrived } from '../stream';
import type { Message, Page, Status } from '../types';
import { Button, Empty, ProblemNote, Skeleton } from '../ui/basic';
import { copy } from '../ui/overlay';
import { toast } from '../ui/toast';
import { plural } from '../words';
import { useReplies, type Filter, type Replies as Found } from './list';
import { Reply, setStatus } from './reply';

const FILTERS = ['campaign_id', 'tool', 'contact_email'];
const MOST_KEYS = 9;

interface Latest {
  found: Found | null;
  statuses: readonly Status[];
  at: number;
  move: (step: number) => void;
  load: () => void;
}

/** What the shortcuts act on. */
const latest: Latest = { found: null, statuses: [], at: 0, move: () => undefined, load: () => undefined };

function filterOf(query: URLSearchParams): Filter {
  return Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? '']).filter(([, value]) => value));
}

export function Replies() {
  const filter = filterOf(place.value.query);
  const list = useReplies(filter);
  const statuses = useGet<Page<Status>>('/public/v2/statuses/contacts', { limit: '200' });
  const replies = list.replies ?? [];
  const [chosen, setChosen] = useState({ id: kept<number>('reply') ?? 0, byKey: false });
  const at = Math.max(0, replies.findIndex((each) => each.id === chosen.id));
  const keyed = (statuses.data?.data ?? []).slice(0, MOST_KEYS);
  function choose(to: number, byKey: boolean) {
    const id = replies[to]?.id ?? 0;
    keep('reply', id);
    setChosen({ id, byKey });
  }
  function move(step: number) {
    const to = Math.max(0, Math.min(replies.length - 1, at + step));
    choose(to, true);
    if (to >= replies.length - 2) list.more();
  }
  Object.assign(latest, { found: list, statuses: keyed, at, move });
  const load = () => {
    arrived.value = 0;
    list.reload();
  };
  Object.assign(latest, { load });
  useReplyKeys();
  useEffect(() => {
    arrived.value = 0;
    document.title = 'Replies · Touchbase';
  }, []);
  const ready = list.replies !== undefined && !statuses.isPending;
  return (
    <main id="main" class="screen fixed">
      <h1 class="hidden">Replies</h1>
      <Filters filter={filter} replies={replies} />
      {arrived.value > 0 && (
        <Button kind="quiet" class="arrived" icon="undo" onClick={load}>
          {`${plural(arrived.value, 'new message')}: load (.)`}
        </Button>
      )}
      <div class="replies" id="replies" data-scrolls>
        {list.problem && <ProblemNote problem={list.problem} retry={list.reload} />}
        {statuses.error && <ProblemNote problem={statuses.error} retry={() => void statuses.refetch()} />}
        {!ready && !list.problem && <div class="pad"><Skeleton lines={12} wide={90} /></div>}
        {ready && !replies.length && (Object.keys(filter).length ? <NoneLikeIt /> : <NoReply />)}
        {ready && replies.length > 0 && (
          <ol aria-label="Replies">
            {replies.map((each, n) => (
              <Reply
                key={each.id}
                reply={each}
                contact={list.contacts.get(each.contact_id)}
                chosen={n === at}
                byKey={chosen.byKey}
                statuses={keyed}
                choose={() => n !== at && choose(n, false)}
                next={() => move(1)}
              />
            ))}
          </ol>
        )}
        {list.hasMore && (
          <div class="pad">
            <Button onClick={() => list.more()}>Show older replies</Button>
          </div>
        )}
      </div>
    </main>
  );
}

function useReplyKeys(): void {
  useShortcuts(() => {
    const group = 'Replies';
    // The arrows of an open panel are the panel's.
    const by = (step: number) => () => document.querySelector(':popover-open') === null && latest.move(step);
    const open = () => document.querySelector<HTMLElement>('.reply[aria-current] .strong')?.click();
    const unfold = () => document.querySelector<HTMLElement>('.reply[aria-current] .fold')?.click();
    const set = (n: number) => () => {
      const reply = latest.found?.replies?.[latest.at];
      const contact = reply && latest.found?.contacts.get(reply.contact_id);
      const status = latest.statuses[n];
      if (contact && status) setStatus(contact, status.name);
    };
    const keys = [
      { keys: 'j', does: 'Next reply', group, run: by(1) },
      { keys: 'ArrowDown', does: 'Next reply', group, run: by(1) },
      { keys: 'k', does: 'Previous reply', group, run: by(-1) },
      { keys: 'ArrowUp', does: 'Previous reply', group, run: by(-1) },
      { keys: 'o', does: 'Open the contact', group, run: open },
      { keys: '.', does: 'Load new replies', group, run: () => latest.load() },
      { keys: 'f', does: 'Unfold or fold a long text', group, run: unfold },
    ];
    if (!canWrite.value) return keys;
    const numbers = Array.from({ length: MOST_KEYS }, (_, n) => ({ keys: String(n + 1), does: `Set the status that has a ${n + 1}`, group, run: set(n) }));
    return [...keys, ...numbers];
  });
}

/** The campaigns and tools of the replies that are shown, and of the filter. */
function optionsOf(replies: readonly Message[], name: 'campaign_id' | 'tool', chosen: string): Map<string, string> {
  const found = new Map<string, string>(chosen ? [[chosen, chosen]] : []);
  for (const each of replies) {
    const id = each[name];
    if (id) found.set(id, name === 'tool' ? id : (each.campaign_name ?? id));
  }
  return found;
}

function Filters({ filter, replies }: { filter: Filter; replies: readonly Message[] }) {
  const show = (changed: Filter) => go('/replies', { ...filter, ...changed });
  const [text, setText] = useState(filter.contact_email ?? '');
  useEffect(() => setText(filter.contact_email ?? ''), [filter.contact_email]);
  return (
    <div class="replies-filter">
      {(['campaign_id', 'tool'] as const).map((name) => (
        <label key={name}>
          <span class="hidden">{name === 'tool' ? 'Tool' : 'Campaign'}</span>
          <select value={filter[name] ?? ''} onChange={(event) => show({ [name]: event.currentTarget.value })}>
            <option value="">{name === 'tool' ? 'All tools' : 'All campaigns'}</option>
            {[...optionsOf(replies, name, filter[name] ?? '')].map(([id, shown]) => (
              <option key={id} value={id}>
                {shown}
              </option>
            ))}
          </select>
        </label>
      ))}
      <form
        class="grow"
        onSubmit={(event) => {
          event.preventDefault();
          show({ contact_email: text.trim() });
        }}
      >
        <input type="search" aria-label="Replies from an email address" placeholder="From an email address" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </form>
    </div>
  );
}

function NoneLikeIt() {
  return (
    <Empty icon="search" title="No reply like this">
      <a class="button" href={href('/replies')}>
        Show all replies
      </a>
    </Empty>
  );
}

function NoReply() {
  const address = `${location.origin}${root}/public/emailcampaign-webhook/${client.value || 'default'}`;
  return (
    <Empty icon="reply" title="No reply yet">
      <p>Paste this address into your campaign tool as its webhook for replies. They appear here with their text, unless the client’s setting store_message_bodies is off.</p>
      <p class="copy-line">
        <code class="cut" title={address}>{address}</code>
        <Button icon="copy" label="Copy the address" onClick={() => void copy(address).then(() => toast('The address is copied.'))} />
      </p>
      {isAdmin.value && (
        <a class="button" href={href('/webhooks')}>
          See what tools send
        </a>
      )}
    </Empty>
  );
}
