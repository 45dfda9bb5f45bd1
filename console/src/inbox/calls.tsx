/** Received calls, newest first, as they arrive. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, type Problem } from '../api';
import { useShortcuts } from '../keys';
import { go, href, place, root, client } from '../route';
import type { ListedDelivery, Page } from '../types';
import { Button, Empty, ProblemNote, Skeleton, StatusMark, Time } from '../ui/basic';
import { copy } from '../ui/overlay';
import { toast } from '../ui/toast';
import { toolName, words } from '../words';
import { listed } from './screen';

const LIMIT = '50';
const NONE: Page<ListedDelivery> = { data: [], next_cursor: null };
const EVERY = 2000;
const STATES = ['', 'applied', 'unrecognised', 'parked', 'failed', 'received', 'ignored'];

interface Found {
  key: string;
  data: ListedDelivery[];
  next: string | null;
}

export function Calls({ chosen }: { chosen: string }) {
  const state = place.value.query.get('state') ?? '';
  const search = place.value.query.get('email') ?? '';
  const key = JSON.stringify([client.value, state, search]);
  const [found, setFound] = useState<Found | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const seen = useRef(new Set<number>());
  const query = () => ({ limit: LIMIT, ...(state && { state }), ...(search && { email: search }) });

  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    async function poll() {
      try {
        if (document.visibilityState === 'visible') {
          const page = await listed<Page<ListedDelivery>>('/admin/v1/deliveries', query(), NONE, abort.signal);
          setFound((old) => merged(old, key, page, seen.current));
          setProblem(null);
        }
      } catch (error) {
        if (!abort.signal.aborted) setProblem(asProblem(error));
      }
      if (!abort.signal.aborted) timer = setTimeout(() => void poll(), EVERY);
    }
    void poll();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key]);

  async function more() {
    if (!found?.next) return;
    try {
      const page = await listed<Page<ListedDelivery>>('/admin/v1/deliveries', { ...query(), cursor: found.next }, NONE);
      setFound({ ...found, data: [...found.data, ...page.data], next: page.next_cursor });
    } catch (error) {
      setProblem(asProblem(error));
    }
  }

  const current = found?.key === key ? found : null;
  useCallKeys(current?.data ?? [], chosen);
  return (
    <>
      <div class="inbox-filter">
        <label>
          <span class="hidden">State</span>
          <select value={state} onChange={(event) => go('/inbox', { state: event.currentTarget.value, email: search })}>
            {STATES.map((each) => (
              <option key={each} value={each}>
                {each ? words(each) : 'All calls'}
              </option>
            ))}
          </select>
        </label>
        <SearchPerson text={search} state={state} />
      </div>
      {problem && <ProblemNote problem={problem} />}
      {!current && !problem && <div class="pad"><Skeleton lines={12} wide={95} /></div>}
      {current && !current.data.length && (state || search ? <NoneLikeIt /> : <Waiting />)}
      <ul class="calls" aria-label="Calls">
        {current?.data.map((each) => (
          <li key={each.id} class={seen.current.has(each.id) ? '' : 'fresh'}>
            <CallRow call={each} chosen={String(each.id) === chosen} query={{ state, email: search }} />
          </li>
        ))}
      </ul>
      {current?.next && (
        <div class="pad">
          <Button onClick={() => void more()}>Show older calls</Button>
        </div>
      )}
    </>
  );
}

/** The list with a new first page: what was loaded below it stays. */
function merged(old: Found | null, key: string, page: Page<ListedDelivery>, seen: Set<number>): Found {
  if (old?.key !== key) {
    seen.clear();
    page.data.forEach((each) => seen.add(each.id));
    return { key, data: page.data, next: page.next_cursor };
  }
  old.data.forEach((each) => seen.add(each.id));
  const last = page.data.at(-1)?.id ?? 0;
  const below = page.next_cursor === null ? [] : old.data.filter((each) => each.id < last);
  return { key, data: [...page.data, ...below], next: below.length ? old.next : page.next_cursor };
}

function CallRow({ call, chosen, query }: { call: ListedDelivery; chosen: boolean; query: Record<string, string> }) {
  const person = call.people[0];
  const what = call.events.map((each) => words(each)).join(', ') || call.error || 'Not read yet';
  return (
    <a class="call" href={href(`/inbox/${call.id}`, query)} aria-current={chosen ? 'true' : undefined}>
      <span class="line">
        <span class="strong cut">{toolName(call.tool)}</span>
        <Time at={call.received_at} />
      </span>
      <span class="line">
        <span class="cut">{what}</span>
        <StatusMark status={call.state} />
      </span>
      <span class="faint cut">{person ? (person.email ?? person.linkedin_url ?? `Contact ${person.contact_id}`) : '\u00a0'}</span>
    </a>
  );
}

function SearchPerson({ text, state }: { text: string; state: string }) {
  const [value, setValue] = useState(text);
  useEffect(() => setValue(text), [text]);
  return (
    <form
      class="grow"
      onSubmit={(event) => {
        event.preventDefault();
        go('/inbox', { state, email: value.trim() });
      }}
    >
      <input type="search" aria-label="Calls about an e-mail address" placeholder="About an e-mail address" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
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
      if (next) go(`/inbox/${next.id}`, [...place.value.query], true);
    };
    return [
      { keys: 'j', does: 'Next call', group: 'Inbox', run: move(1) },
      { keys: 'k', does: 'Previous call', group: 'Inbox', run: move(-1) },
    ];
  });
}

const latest: { calls: readonly ListedDelivery[]; chosen: string } = { calls: [], chosen: '' };

function NoneLikeIt() {
  return (
    <Empty icon="search" title="No call like this">
      <a class="button" href={href('/inbox')}>
        Show all calls
      </a>
    </Empty>
  );
}

function Waiting() {
  const id = client.value || 'default';
  const hooks = ['emailcampaign', 'crm'].map((each) => [each === 'crm' ? 'CRM' : 'Campaign tool', `${location.origin}${root}/public/${each}-webhook/${id}`] as const);
  return (
    <Empty icon="inbox" title="Waiting for the first call">
      <p>Paste these addresses into your tools. Calls appear here within two seconds, whatever is in them.</p>
      {hooks.map(([name, address]) => (
        <p key={name} class="copy-line">
          <code class="cut" title={address}>{address}</code>
          <Button icon="copy" label={`Copy the address for the ${name}`} onClick={() => void copy(address).then(() => toast('The address is copied.'))} />
        </p>
      ))}
    </Empty>
  );
}
