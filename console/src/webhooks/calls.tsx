/** Received calls, newest first, as they arrive. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { usePages } from '../data';
import { useShortcuts } from '../keys';
import { go, href, place, root, client } from '../route';
import { clients, showsAll } from '../session';
import type { ListedDelivery, Page } from '../types';
import { Button, Empty, ProblemNote, Skeleton, Time } from '../ui/basic';
import { copy } from '../ui/overlay';
import { StatusMark } from '../ui/status';
import { toast } from '../ui/toast';
import { toolName, words } from '../words';
import { listed } from './list';

const LIMIT = '50';
/** Webhooks without effect are no events, so the stream does not tell of them. */
const EVERY = 2000;
const NONE: Page<ListedDelivery> = { data: [], next_cursor: null };
const STATES = ['', 'applied', 'unrecognised', 'parked', 'failed', 'received', 'ignored'];

export function Calls({ chosen }: { chosen: string }) {
  const state = place.value.query.get('state') ?? '';
  const search = place.value.query.get('email') ?? '';
  const tool = place.value.query.get('tool') ?? '';
  const shown = { state, email: search, tool };
  const query = { limit: LIMIT, ...(tool && { tool }), ...(state && { state }), ...(search && { email: search }) };
  const { data, error, hasMore, more } = usePages<ListedDelivery>('/admin/v1/deliveries', query, { refetchInterval: EVERY, read: (asked, signal) => listed('/admin/v1/deliveries', asked, NONE, signal) });
  // What was there when the list was opened is not marked as new.
  const opened = useRef(0);
  opened.current ||= data?.[0]?.id ?? 0;
  useCallKeys(data ?? [], chosen);
  return (
    <>
      <div class="inbox-filter">
        <label>
          <span class="hidden">State</span>
          <select value={state} onChange={(event) => go('/webhooks', { ...shown, state: event.currentTarget.value })}>
            {STATES.map((each) => (
              <option key={each} value={each}>
                {each ? words(each) : 'All webhooks'}
              </option>
            ))}
          </select>
        </label>
        <SearchPerson text={search} filter={shown} />
      </div>
      {tool && (
        <p class="pad">
          <span class="chip">
            Tool&nbsp;<b>{toolName(tool)}</b>
            <Button kind="quiet" icon="close" label="Remove the filter Tool" onClick={() => go('/webhooks', { ...shown, tool: '' })} />
          </span>
        </p>
      )}
      {error && <ProblemNote problem={error} />}
      {!data && !error && <div class="pad"><Skeleton lines={12} wide={95} /></div>}
      {data?.length === 0 && (state || search || tool ? <NoneLikeIt /> : <Waiting />)}
      <ul class="calls" aria-label="Webhooks">
        {data?.map((each) => (
          <li key={each.id} class={each.id > opened.current ? 'fresh' : ''}>
            <CallRow call={each} chosen={String(each.id) === chosen} query={shown} />
          </li>
        ))}
      </ul>
      {hasMore && (
        <div class="pad">
          <Button onClick={more}>Show older webhooks</Button>
        </div>
      )}
    </>
  );
}

function CallRow({ call, chosen, query }: { call: ListedDelivery; chosen: boolean; query: Record<string, string> }) {
  const person = call.people[0];
  const what = call.events.map((each) => words(each)).join(', ') || call.error || 'Not read yet';
  return (
    <a class="call" href={href(`/webhooks/${call.id}`, query)} aria-current={chosen ? 'true' : undefined}>
      <span class="line">
        <span class="strong cut">{toolName(call.tool)}</span>
        <Time at={call.received_at} />
      </span>
      <span class="line">
        <span class="cut">{what}</span>
        <StatusMark status={call.state} />
      </span>
      <span class="line">
        <span class="faint cut">{person ? (person.email ?? person.linkedin_url ?? `Contact ${person.contact_id}`) : '\u00a0'}</span>
        {showsAll.value && <span class="chip">{clients.value.find((each) => each.client_id === call.client_id)?.name || call.client_id}</span>}
      </span>
    </a>
  );
}

function SearchPerson({ text, filter }: { text: string; filter: Record<string, string> }) {
  const [value, setValue] = useState(text);
  useEffect(() => setValue(text), [text]);
  return (
    <form
      class="grow"
      onSubmit={(event) => {
        event.preventDefault();
        go('/webhooks', { ...filter, email: value.trim() });
      }}
    >
      <input type="search" aria-label="Webhooks about an email address" placeholder="About an email address" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
    </form>
  );
}

function useCallKeys(calls: readonly ListedDelivery[], chosen: string): void {
  latest.calls = calls;
  latest.chosen = chosen;
  useShortcuts(() => {
    const move = (step: number) => () => {
      const at = latest.calls.findIndex((each) => String(each.id) === latest.chosen);
      const next = latest.calls[at < 0 ? 0 : Math.max(0, Math.min(latest.calls.length - 1, at + step))];
      if (next) go(`/webhooks/${next.id}`, [...place.value.query], true);
    };
    return [
      { keys: 'j', does: 'Next webhook', group: 'Webhooks', run: move(1) },
      { keys: 'k', does: 'Previous webhook', group: 'Webhooks', run: move(-1) },
    ];
  });
}

const latest: { calls: readonly ListedDelivery[]; chosen: string } = { calls: [], chosen: '' };

function NoneLikeIt() {
  return (
    <Empty icon="search" title="No webhook like this">
      <a class="button" href={href('/webhooks')}>
        Show all webhooks
      </a>
    </Empty>
  );
}

function Waiting() {
  const id = client.value || 'default';
  const hooks = ['emailcampaign', 'crm'].map((each) => [each === 'crm' ? 'CRM' : 'Campaign tool', `${location.origin}${root}/public/${each}-webhook/${id}`] as const);
  return (
    <Empty icon="inbox" title="Waiting for the first webhook">
      <p>Paste these addresses into your tools. Webhooks appear here within two seconds, whatever is in them.</p>
      {hooks.map(([name, address]) => (
        <p key={name} class="copy-line">
          <code class="cut" title={address}>{address}</code>
          <Button icon="copy" label={`Copy the address for the ${name}`} onClick={() => void copy(address).then(() => toast('The address is copied.'))} />
        </p>
      ))}
    </Empty>
  );
}
