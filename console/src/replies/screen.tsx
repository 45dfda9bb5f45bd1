/** Replies: the conversations of one client or of all, by state; worked through by keys. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { reachable } from '../api';
import { webhookAddress } from '../clients/requests';
import { density, LIST_WIDTH, listWidth, setListWidth } from '../density';
import { keep, kept } from '../kept';
import { useShortcuts } from '../keys';
import { client, go, href, place } from '../route';
import { canWrite, isAdmin, session, showsAll } from '../session';
import type { Status } from '../types';
import { useTitle } from '../title';
import { Button, Empty, ProblemNote, Skeleton, Time } from '../ui/basic';
import { ClientChip } from '../ui/client-chip';
import { CopyLine } from '../ui/confirm';
import { Sizer } from '../ui/sizer';
import { digitOf, MOST_KEYS, StatusMark, withDigits } from '../ui/status';
import { useVirtual } from '../ui/virtual';
import { toastProblem } from '../ui/toast';
import { atMost, plural, shortTime, words } from '../words';
import { acts, changeMany, keyOf, leave, MOST_AT_ONCE, nameOf, readConversationsAgain, refused, reading, tabs, useArrivals, useConversations, useCounters, usePeople, type Conversation, type Filter, type State } from './conversations';
import { BlockDialog, blocking } from './block';
import { act, assignTo, blockSelected, clear, finished, select, selected, selectedOf, SelectionBar, setStatuses, toggle } from './selection';
import { Chips, filterOf, Filters } from './filters';
import { assign, Pane, setStatus, toggleDone, toggleKind, useStatuses } from './pane';

/** The heights of rows. */
const ROW = { regular: 96, compact: 68 };
/** So many rows before its end a list gets its next page. */
const FEW = 10;

interface Latest {
  all: readonly Conversation[];
  chosen: Conversation | undefined;
  statuses: readonly Status[];
  /** The statuses that all selected conversations can have. */
  common: readonly Status[];
  move: (step: number) => void;
  load: () => void;
}

/** What the shortcuts act on. */
const latest: Latest = { all: [], chosen: undefined, statuses: [], common: [], move: () => undefined, load: () => undefined };

export function Replies() {
  const { query } = place.value;
  const filter = filterOf(query);
  const all = tabs();
  const tab = all.find(({ name }) => name === query.get('state')) ?? all.find(({ name }) => name === 'open');
  const state = tab?.state ?? 'open';
  const people = usePeople();
  const of = client.value || (filter['of'] ?? '');
  // A search looks into all states.
  const isSearch = filter['q'] !== undefined;
  const { of: _, ...conditions } = filter;
  const wanted = { ...(tab?.assignee && !isSearch && { assignee: tab.assignee }), ...conditions, state: isSearch ? 'any' : state };
  const list = useConversations(wanted, of);
  const counters = useCounters(of);
  // A client before its first webhook.
  const isNone = list.error?.status === 404;
  const conversations = list.data ?? [];
  // Nothing is chosen before a person chooses it: a digit that was meant for another screen changes nothing.
  const [chosenKey, setChosenKey] = useState<string | null>(kept<string>('conversation') ?? null);
  const [at, setAt] = useState(0);
  const [dragged, setDragged] = useState<number | null>(null);
  const width = dragged ?? listWidth.value;
  const place_ = conversations.findIndex((each) => keyOf(each) === chosenKey);
  // After an act the next conversation takes the place of the one that left.
  const chosen = chosenKey === null ? undefined : (conversations[place_] ?? conversations[Math.min(at, conversations.length - 1)]);
  const statuses = useStatuses(chosen?.client_id ?? '');
  const common = useStatuses(...selectedOf(conversations).map((each) => each.client_id));
  const arrived = useArrivals(wanted, of, conversations);
  function choose(to: number) {
    const conversation = conversations[to];
    if (!conversation) return;
    if (chosen && chosen !== conversation) leave(chosen);
    keep('conversation', keyOf(conversation));
    setChosenKey(keyOf(conversation));
    setAt(to);
  }
  useEffect(() => {
    if (refused.value === null) return;
    setChosenKey(refused.value);
    refused.value = null;
  }, [refused.value]);
  useEffect(() => {
    if (place_ >= 0) setAt(place_);
    else if (chosen) setChosenKey(keyOf(chosen));
  }, [place_, chosen]);
  const present = chosen ? conversations.indexOf(chosen) : -1;
  const load = () => {
    acts.value = new Map();
    void readConversationsAgain();
  };
  Object.assign(latest, { all: conversations, chosen, statuses, common, load, move: (step: number) => choose(present < 0 ? 0 : Math.max(0, Math.min(conversations.length - 1, present + step))) });
  useReplyKeys();
  useTitle('Replies', counters.data?.open);
  useEffect(
    () => () => {
      clear();
      reading.value = null;
    },
    [],
  );
  reading.value = chosen ? keyOf(chosen) : null;
  const show = (changed: Filter) => go('/replies', { ...filter, ...(tab && tab.name !== 'open' && { state: tab.name }), ...changed });
  const choices = { filter, conversations, statuses: useStatuses(of), people, show };
  return (
    <main id="main" class="screen fixed">
      <h1 class="hidden">Replies</h1>
      <nav class="tabs" aria-label="States of conversations">
        {all.map(({ name, text, counter }) => {
          const count = counter && counters.data?.[counter];
          return (
            <a key={name} href={href('/replies', { ...filter, q: '', ...(name !== 'open' && { state: name }) })} aria-current={name === tab?.name && !isSearch ? 'page' : undefined}>
              {text} {count !== undefined && <span class="faint">{atMost(count)}</span>}
            </a>
          );
        })}
        <Filters {...choices} />
        {state === 'automatic' && !isSearch && canWrite.value && conversations.length > 0 && (
          <Button icon="check" onClick={() => void changeMany(conversations, ...finished).catch(toastProblem)}>
            {`Done with ${conversations.length === 1 ? 'it' : `all ${Math.min(conversations.length, MOST_AT_ONCE)}`}`}
          </Button>
        )}
      </nav>
      <Chips {...choices} />
      {arrived > 0 && (
        <Button kind="quiet" class="arrived" icon="undo" onClick={load}>
          {`${plural(arrived, 'new reply', 'new replies')}: load (.)`}
        </Button>
      )}
      {list.error && !isNone && <ProblemNote problem={list.error} retry={list.refetch} />}
      {isNone && <NoReply state={state} of={of} isNone isFiltered={false} snoozed={0} />}
      {!list.data && !list.error && <div class="pad"><Skeleton lines={12} wide={90} /></div>}
      {list.data && !conversations.length && <NoReply state={state} of={of} isFiltered={Object.keys(filter).length > 0} snoozed={counters.data?.snoozed ?? 0} />}
      {conversations.length > 0 && (
        <div class={`split ${chosen ? 'chosen' : ''}`} style={{ '--list': `${width}px` }}>
          <List conversations={conversations} hasMore={list.hasMore} more={list.more} chosen={chosen} people={people} common={common} isSearch={isSearch} choose={choose} />
          <Sizer label="Width of the list" width={width} min={LIST_WIDTH.min} max={LIST_WIDTH.max} onMove={setDragged} onEnd={(to) => (setDragged(null), to !== null && setListWidth(to))} />
          {chosen ? (
            <Pane key={keyOf(chosen)} conversation={chosen} statuses={statuses} people={people} place={`${present + 1} of ${conversations.length}${list.hasMore ? '+' : ''}`} turn={{ previous: present > 0 ? () => choose(present - 1) : null, next: present + 1 < conversations.length ? () => choose(present + 1) : null }} back={() => setChosenKey(null)} />
          ) : (
            <div class="pane none">
              <p class="faint">Choose a conversation, or press <kbd>j</kbd>.</p>
            </div>
          )}
        </div>
      )}
      {blocking.value && <BlockDialog conversations={blocking.value} onBlocked={clear} />}
    </main>
  );
}

interface ListProps {
  conversations: readonly Conversation[];
  hasMore: boolean;
  more: () => void;
  chosen: Conversation | undefined;
  people: ReadonlyMap<string, string>;
  common: readonly Status[];
  /** Whether rows name their state. */
  isSearch: boolean;
  choose: (at: number) => void;
}

/** Move the focus from the row to the text of the chosen conversation. */
function readText(): void {
  document.getElementById('conversation')?.focus();
}

/** The rows in sight; the next page is read before its rows are. The list is one stop of the Tab key: the chosen row, else the first. */
function List({ conversations, hasMore, more, chosen, choose, common, ...shown }: ListProps) {
  const list = useRef<HTMLDivElement>(null);
  const virtual = useVirtual(list, { count: conversations.length, height: ROW[density.value], from: kept('scroll replies') });
  const drawn = virtual.getVirtualItems();
  const last = drawn.at(-1)?.index ?? 0;
  const at = chosen ? conversations.indexOf(chosen) : -1;
  useEffect(() => {
    if (hasMore && last + FEW > conversations.length) more();
  }, [hasMore, last, conversations.length]);
  useEffect(() => {
    if (at < 0) return;
    virtual.scrollToIndex(at);
    if (document.activeElement?.closest('.reply')) requestAnimationFrame(() => list.current?.querySelector<HTMLElement>('.reply[aria-current] > button')?.focus());
  }, [chosen && keyOf(chosen)]);
  return (
    <div class="replies" id="replies" ref={list} data-scrolls>
      <ol aria-label="Conversations" class={density.value} style={{ height: `${virtual.getTotalSize()}px` }}>
        {drawn.map(({ index, start }) => {
          const conversation = conversations[index];
          if (!conversation) return null;
          return <Row key={keyOf(conversation)} conversation={conversation} index={index} of={hasMore ? -1 : conversations.length} top={start} chosen={index === at} isStop={index === Math.max(0, at)} choose={() => (index === at ? readText() : choose(index))} {...shown} />;
        })}
      </ol>
      <SelectionBar all={conversations} people={shown.people} statuses={common} />
    </div>
  );
}

interface RowProps extends Pick<ListProps, 'people' | 'isSearch'> {
  conversation: Conversation;
  index: number;
  /** The length of the list; -1: not known yet. */
  of: number;
  top: number;
  chosen: boolean;
  isStop: boolean;
  choose: () => void;
}

function Row({ conversation, index, of: length, top, isSearch, people, chosen, isStop, choose }: RowProps) {
  const { contact, newest, label } = conversation;
  const isSelected = selected.value.has(keyOf(conversation));
  const isCompact = density.value === 'compact';
  const text = newest?.text ?? 'No text is stored';
  const act = acts.value.get(keyOf(conversation));
  return (
    <li aria-posinset={index + 1} aria-setsize={length} style={{ top: `${top}px` }} class={`reply ${isSelected ? 'selected' : ''} ${act ? 'acted' : ''} ${conversation.unread ? 'unread' : ''}`} aria-current={chosen ? 'true' : undefined}>
      {canWrite.value && <input type="checkbox" tabIndex={isStop ? 0 : -1} aria-label={`Select ${nameOf(conversation)}`} checked={isSelected} onChange={() => toggle(conversation)} />}
      <button type="button" id={`conversation-${keyOf(conversation)}`} tabIndex={isStop ? 0 : -1} onClick={choose}>
        {conversation.unread && <span class="hidden">Unread</span>}
        <span class="line">
          <span class="strong cut">{nameOf(conversation)}</span>
          <Time at={newest?.occurred_at} />
        </span>
        <span class={isCompact ? 'line' : 'line faint'}>
          <span class={isCompact ? 'cut snippet' : 'cut'} dir="auto">{isCompact ? text : newest?.subject || (newest?.channel === 'linkedin' ? 'LinkedIn' : 'Reply')}</span>
          <ClientChip of={conversation.client_id} />
        </span>
        {!isCompact && <span class="cut snippet" dir="auto">{text}</span>}
        <span class="line faint">
          {act ? <span class="cut act">{act}</span> : <StatusMark status={contact.contact_status} />}
          {isSearch && <span class="cut">{words(conversation.state)}</span>}
          {label && <span class="cut" title={newest?.category ? `The tool’s word: ${newest.category}` : undefined}>{words(label)}</span>}
          {conversation.assignee_id && <span class="cut">{conversation.assignee_id === session.value?.user?.id ? 'me' : (people.get(conversation.assignee_id) ?? 'somebody')}</span>}
        </span>
      </button>
    </li>
  );
}

function useReplyKeys(): void {
  useShortcuts(() => {
    const group = 'Replies';
    const by = (step: number) => () => latest.move(step);
    const on = (act: (conversation: Conversation) => unknown) => () => latest.chosen && void act(latest.chosen);
    const press = (selector: string) => () => document.querySelector<HTMLElement>(selector)?.click();
    const keys = [
      { keys: 'j', does: 'Next conversation', group, run: by(1) },
      { keys: 'ArrowDown', does: 'Next conversation', group, run: by(1) },
      { keys: 'k', does: 'Previous conversation', group, run: by(-1) },
      { keys: 'ArrowUp', does: 'Previous conversation', group, run: by(-1) },
      { keys: 'Enter', does: 'Into the text', group, run: readText },
      { keys: 'Escape', does: 'Back to the list', group, run: () => document.querySelector<HTMLElement>('.reply[aria-current] > button')?.focus() },
      { keys: 'w', does: 'Open in the tool', group, run: press('.pane .tool-open') },
      { keys: 'o', does: 'Open the contact', group, run: press('.pane h2 a') },
      { keys: '.', does: 'Load new replies', group, run: () => latest.load() },
      { keys: '/', does: 'Search in all states', group, run: () => document.querySelector<HTMLElement>('.replies-search')?.focus() },
      ...tabs().map(({ name, text }, n) => ({ keys: `Shift+${n + 1}`, does: `Show ${text}`, group, run: () => go('/replies', { ...filterOf(place.value.query), q: '', ...(name !== 'open' && { state: name }) }) })),
      { keys: 'f', does: 'Unfold or fold a long text', group, run: press('.pane .fold') },
    ];
    if (!canWrite.value) return keys;
    const isAny = () => latest.all.some((each) => selected.value.has(keyOf(each)));
    // What keys do with the selected conversations, else with the chosen one.
    const onAll = (many: () => void, single: () => void) => () => (isAny() ? many() : single());
    const extend = (step: number) => () => {
      const next = latest.all[latest.all.findIndex((each) => each === latest.chosen) + step];
      select([latest.chosen, next].filter((each) => each !== undefined), true);
      latest.move(step);
    };
    const statusOf = (statuses: readonly Status[], n: number) => withDigits(statuses, showsAll.value).find((status, place) => digitOf(status, place, showsAll.value) === n);
    const status = (n: number) => {
      const common = statusOf(latest.common, n);
      const own = statusOf(latest.statuses, n);
      if (isAny()) return common && setStatuses(latest.all, common);
      return latest.chosen && own && void setStatus(latest.chosen, own);
    };
    const numbers = Array.from({ length: MOST_KEYS }, (_, n) => ({ keys: String(n + 1), does: `Set the status that has a ${n + 1}`, group, run: () => void status(n + 1) }));
    const writing = [
      { keys: 'x', does: 'Select', group, run: on(toggle) },
      { keys: 'J', does: 'Select, and the next one', group, run: extend(1) },
      { keys: 'K', does: 'Select, and the previous one', group, run: extend(-1) },
      { keys: 'mod+a', does: 'Select all that are shown', group, run: () => select(latest.all, true) },
      { keys: 'X', does: 'Select none', group, run: clear },
      { keys: 'e', does: 'Done, or open again', group, run: onAll(() => act(latest.all, ...finished), on(toggleDone)) },
      { keys: 'h', does: 'Snooze', group, run: onAll(press('.selection .snooze'), press('.pane .snooze')) },
      { keys: 'm', does: 'Move between Open and Automatic', group, run: on((each) => (each.state === 'open' || each.state === 'automatic') && toggleKind(each)) },
      { keys: 's', does: 'Set the status', group, run: onAll(press('.selection .pick-status'), press('.pane .pick-status')) },
      { keys: 'l', does: 'Label', group, run: onAll(press('.selection .pick-label'), press('.pane .pick-label')) },
      { keys: 'b', does: 'Block the contact', group, run: onAll(() => blockSelected(latest.all), on((each) => (blocking.value = [each]))) },
      ...(session.value?.user ? [{ keys: 'i', does: 'Assign to me', group, run: onAll(() => assignTo(latest.all, 'me', 'you'), on((each) => assign(each, 'me', 'you'))) }, { keys: 'a', does: 'Assign', group, run: onAll(press('.selection .assign'), press('.pane .assign')) }] : []),
      ...numbers,
    ];
    return [...keys, ...writing.map((each) => ({ ...each, run: () => void (reachable.value && each.run()) }))];
  });
}

const NONE: Record<State, string> = { open: 'All done', snoozed: 'Nothing is snoozed', automatic: 'No automatic reply', done: 'Nothing is done yet' };

function NoReply({ state, of, isFiltered, snoozed, isNone = false }: { state: State; of: string; isFiltered: boolean; snoozed: number; isNone?: boolean }) {
  const done = useConversations({ state: 'done' }, of).data;
  const sleeping = useConversations({ state: 'snoozed' }, of);
  // Of more than a page the first to end is not known.
  const next = sleeping.hasMore ? undefined : sleeping.data?.map((each) => each.snoozed_until ?? '').filter(Boolean).sort()[0];
  if (isFiltered)
    return (
      <Empty icon="search" title="No reply like this">
        <a class="button" href={href('/replies')}>
          Show all replies
        </a>
      </Empty>
    );
  if (!done && !isNone) return <div class="pad"><Skeleton lines={3} /></div>;
  const isNew = state === 'open' && !snoozed && !done?.length;
  return (
    <Empty icon="reply" title={isNew ? 'No reply yet' : NONE[state]}>
      {snoozed > 0 && state === 'open' && <p>{`${plural(snoozed, 'conversation')} snoozed${next ? `, the next until ${shortTime(next)}` : ''}.`}</p>}
      {isNew && (
        <>
          <p>Paste {client.value ? 'this address' : 'the address of a client'} into your campaign tool as its webhook for replies. They appear here with their text, unless the client’s setting store_message_bodies is off.</p>
          {client.value && <CopyLine text={webhookAddress(client.value, 'email_campaign')} of="address" />}
          {isAdmin.value && (
            <a class="button" href={href(client.value ? '/webhooks' : '/clients')}>
              {client.value ? 'See what tools send' : 'Show clients'}
            </a>
          )}
        </>
      )}
    </Empty>
  );
}
