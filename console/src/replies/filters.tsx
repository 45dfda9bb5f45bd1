/** Search and filters of the conversations: all of them are in the address, and each that is set can be taken away by its chip. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useRested } from '../data';
import { DENSITIES, density, setDensity, type Density } from '../density';
import { clients, session, showsAll } from '../session';
import { ClientList } from '../shell';
import type { Status } from '../types';
import { Button, Icon } from '../ui/basic';
import { Field } from '../ui/confirm';
import { Popover } from '../ui/overlay';
import { toolName, words } from '../words';
import { LABELS, type Conversation, type Filter } from './conversations';

export const FILTERS = ['q', 'of', 'contact_status', 'label', 'assignee', 'campaign_id', 'tool', 'channel', 'mailbox', 'waiting_hours', 'unread', 'sort'] as const;
type Name = (typeof FILTERS)[number];

const TITLES: Readonly<Record<Name, string>> = {
  q: 'Search', of: 'Client', contact_status: 'Status', label: 'Label', assignee: 'Assignee', campaign_id: 'Campaign', tool: 'Tool', channel: 'Channel', mailbox: 'Mailbox',
  waiting_hours: 'Waiting', unread: 'Read', sort: 'Order',
};
/** What is read in place of a value that is not set. */
const ANY: Readonly<Record<Name, string>> = {
  q: '', of: 'All clients', contact_status: 'Any status', label: 'Any label', assignee: 'Anybody', campaign_id: 'All campaigns', tool: 'All tools', channel: 'Email and LinkedIn', mailbox: 'All mailboxes',
  waiting_hours: 'Any time', unread: 'Read and unread', sort: 'Newest first',
};
const FIXED: Readonly<Partial<Record<Name, readonly (readonly [string, string])[]>>> = {
  label: LABELS.map((label) => [label, words(label)]),
  channel: [['email', 'Email'], ['linkedin', 'LinkedIn']],
  waiting_hours: [['4', 'Over 4 hours'], ['24', 'Over a day'], ['72', 'Over 3 days'], ['168', 'Over a week']],
  unread: [['true', 'Unread']],
  sort: [['waiting', 'Longest waiting first']],
};

export function filterOf(query: URLSearchParams): Filter {
  return Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? '']).filter(([, value]) => value));
}

interface Props {
  filter: Filter;
  /** The conversations that are shown: they name the campaigns, tools and mailboxes. */
  conversations: readonly Conversation[];
  statuses: readonly Status[];
  people: ReadonlyMap<string, string>;
  show: (changed: Filter) => void;
}

/** The values of a filter with their texts; the chosen one is among them. */
function optionsOf(name: Name, { filter, conversations, statuses, people }: Props): ReadonlyMap<string, string> {
  const options = new Map<string, string>(FIXED[name] ?? []);
  if (name === 'of') for (const { client_id: id, name: client, handle } of clients.value) options.set(id, client || handle || id);
  if (name === 'assignee') for (const [id, person] of [['me', 'Me'], ['nobody', 'Nobody'], ...people] as const) options.set(id, person);
  if (name === 'contact_status') for (const status of [...statuses.map((each) => each.name), ...conversations.map((each) => each.contact.contact_status ?? '')]) if (status) options.set(status, words(status));
  for (const { newest } of conversations) {
    if (newest && name === 'tool') options.set(newest.tool, toolName(newest.tool));
    if (newest?.campaign_id && name === 'campaign_id') options.set(newest.campaign_id, newest.campaign_name ?? newest.campaign_id);
    if (newest?.mailbox && name === 'mailbox') options.set(newest.mailbox, newest.mailbox);
  }
  const chosen = filter[name];
  if (chosen && !options.has(chosen)) options.set(chosen, name === 'contact_status' ? words(chosen) : name === 'tool' ? toolName(chosen) : chosen);
  return options;
}

export function Filters(props: Props) {
  const { filter, show } = props;
  const isPerson = Boolean(session.value?.user);
  const names = FILTERS.filter((name) => name !== 'q' && name !== 'of' && (isPerson || (name !== 'assignee' && name !== 'unread')));
  const set = names.filter((name) => filter[name]).length;
  return (
    <div class="replies-filter">
      <Search text={filter['q'] ?? ''} show={(q) => show({ q })} />
      {showsAll.value && clients.value.length > 1 && (
        <Popover text="Client" icon="link">
          {(close) => <ClientList close={close} chosen={filter['of'] ?? ''} hasAll pick={(of) => show({ of })} />}
        </Popover>
      )}
      <Popover text={set ? `Filter ${set}` : 'Filter'} icon="filter">
        {() => (
          <div class="replies-choices">
            {names.map((name) => (
              <Field key={name} label={TITLES[name]}>
                <select value={filter[name] ?? ''} onChange={(event) => show({ [name]: event.currentTarget.value })}>
                  <option value="">{ANY[name]}</option>
                  {[...optionsOf(name, props)].map(([value, text]) => (
                    <option key={value} value={value}>
                      {text}
                    </option>
                  ))}
                </select>
              </Field>
            ))}
            <Field label="Rows">
              <select value={density.value} onChange={(event) => setDensity(event.currentTarget.value as Density)}>
                {DENSITIES.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
              </select>
            </Field>
          </div>
        )}
      </Popover>
    </div>
  );
}

/** The field of `/`: it searches in all states as soon as the typing rests. */
function Search({ text, show }: { text: string; show: (text: string) => void }) {
  const [typed, setTyped] = useState(text);
  const rested = useRested(typed.trim(), 250);
  // What is typed is not in the address yet.
  const isAhead = useRef(false);
  useEffect(() => {
    if (!isAhead.current || rested !== typed.trim()) return;
    isAhead.current = false;
    if (rested !== text) show(rested);
  }, [rested]);
  // Another address, by Back or a chip, has another text.
  useEffect(() => {
    if (!isAhead.current) setTyped(text);
  }, [text]);
  return (
    <label class="search">
      <Icon name="search" />
      <input
        type="search"
        class="replies-search"
        aria-label="Search replies in all states: names, addresses, subjects and texts"
        placeholder={`Search ${showsAll.value ? 'all clients' : 'replies'}  /`}
        value={typed}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          isAhead.current = true;
          setTyped(event.currentTarget.value);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') show(typed.trim());
          if (event.key !== 'Enter' && event.key !== 'Escape') return;
          event.preventDefault();
          event.currentTarget.blur();
        }}
      />
    </label>
  );
}

/** What is set, each with a button that takes it away. */
export function Chips(props: Props) {
  const { filter, show } = props;
  const set = FILTERS.filter((name) => filter[name]);
  if (!set.length) return null;
  return (
    <div class="chips" role="group" aria-label="Filters that are set">
      {set.map((name) => {
        const text = name === 'q' ? `“${filter[name]}”` : `${TITLES[name]}: ${optionsOf(name, props).get(filter[name] ?? '')}`;
        return (
          <span key={name} class="chip">
            <span class="cut">{text}</span>
            <Button kind="quiet" icon="close" label={`Remove ${text}`} onClick={() => show({ [name]: '' })} />
          </span>
        );
      })}
    </div>
  );
}
