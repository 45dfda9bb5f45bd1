/** The do-not-contact lists: the client's, and for administrators of the installation the one of all clients. */
import { useEffect, useState } from 'preact/hooks';
import { useAct } from '../acts';
import { call, send } from '../api';
import { save } from '../csv';
import { useShortcuts } from '../keys';
import { usePages } from '../data';
import { go, href, place } from '../route';
import { canWrite, isAdmin, mayExport, session, showsAll } from '../session';
import { useTitle } from '../title';
import { Button, Empty, LoadProblem, Skeleton, Time } from '../ui/basic';
import { Confirm } from '../ui/confirm';
import { asClient, ClientChip } from '../ui/client-chip';
import { toast, toastProblem } from '../ui/toast';
import { toolName } from '../words';
import { Add } from './add';
import { Check } from './check';
import { KINDS, PATHS, REASONS, SOURCES, type Entry, type List } from './types';

/** The lists of all clients together. */
const OF_EACH = '/team/v1/suppressions';
const FILTERS = ['kind', 'reason', 'source', 'active', 'value'];
const CHOICES: readonly (readonly [string, string, Record<string, string>])[] = [
  ['kind', 'All kinds', KINDS],
  ['reason', 'All reasons', REASONS],
  ['source', 'All sources', SOURCES],
  ['active', 'Include expired', { true: 'In force now', false: 'Expired' }],
];

/** The list that is shown, whether the person may change it, and whether it is that of each client. */
function shown(): { list: List; mayAll: boolean; may: boolean; isOfEach: boolean } {
  const mayAll = isAdmin.value && session.value?.client_id === null;
  const list: List = mayAll && place.value.query.get('list') === 'all' ? 'installation' : 'client';
  const isOfEach = showsAll.value && list === 'client';
  return { list, mayAll, may: list === 'client' ? canWrite.value && !isOfEach : mayAll, isOfEach };
}

export function Suppressions() {
  const { query } = place.value;
  const { list, mayAll, may, isOfEach } = shown();
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? '']).filter(([, value]) => value)) as Record<string, string>;
  const entries = usePages<Entry>(isOfEach ? OF_EACH : PATHS[list], { ...filter, limit: '100' });
  const [asks, setAsks] = useState<'add' | 'check' | Entry | null>(null);
  useAct(() => may && setAsks('add'));
  useShortcuts(() => {
    const group = 'Do not contact';
    const keys = [
      { keys: '/', does: 'Search', group, run: () => document.querySelector<HTMLInputElement>('.listed-filter input')?.focus() },
      { keys: 'c', does: 'Check addresses', group, run: () => !shown().isOfEach && setAsks('check') },
    ];
    return canWrite.value ? [...keys, { keys: 'a', does: 'Block addresses', group, run: () => shown().may && setAsks('add') }] : keys;
  });
  useTitle('Do not contact');
  async function fetchFile() {
    try {
      const response = await send('GET', PATHS[list], { query: { ...filter, format: 'csv' } });
      save('suppressions.csv', await response.blob());
    } catch (error) {
      toastProblem(error);
    }
  }
  const filtered = Object.keys(filter).length > 0;
  return (
    <main id="main" class="screen suppressions">
      <header class="screen-head">
        <h1>Do not contact</h1>
        {mayAll && (
          <div class="switch" role="group" aria-label="List">
            {(['client', 'installation'] as const).map((each) => (
              <button key={each} type="button" aria-pressed={each === list} onClick={() => go('/suppressions', { ...filter, list: each === 'client' ? '' : 'all' })}>
                {each === 'installation' ? 'All clients' : showsAll.value ? 'Their own' : 'This client'}
              </button>
            ))}
          </div>
        )}
        <span class="push" />
        {!isOfEach && (
          <>
            <Button icon="search" onClick={() => setAsks('check')}>
              Check addresses
            </Button>
            {mayExport.value && (
              <Button icon="download" onClick={() => void fetchFile()}>
                Export CSV
              </Button>
            )}
          </>
        )}
        {may && (
          <Button kind="main" icon="plus" onClick={() => setAsks('add')}>
            Block addresses
          </Button>
        )}
      </header>
      <Filters filter={filter} list={list} />
      <LoadProblem of={entries} />
      {!entries.data && !entries.error && <Skeleton lines={8} wide={90} />}
      {entries.data && !entries.data.length && (filtered ? <NoneLikeIt list={list} /> : <NoEntry list={list} />)}
      <ul class="listed" aria-label="Entries">
        {entries.data?.map((each) => (
          <Line key={`${each.client_id} ${each.id}`} entry={each} remove={(may || isOfEach) && isAdmin.value ? () => setAsks(each) : null} />
        ))}
      </ul>
      {entries.hasMore && <Button onClick={entries.more}>Show more</Button>}
      {asks === 'add' && <Add list={list} onClose={() => setAsks(null)} reload={entries.refetch} />}
      {asks === 'check' && <Check list={list} onClose={() => setAsks(null)} />}
      {typeof asks === 'object' && asks !== null && <Remove entry={asks} list={list} onClose={() => setAsks(null)} reload={entries.refetch} />}
    </main>
  );
}

function Filters({ filter, list }: { filter: Record<string, string>; list: List }) {
  const [text, setText] = useState(filter['value'] ?? '');
  useEffect(() => setText(filter['value'] ?? ''), [filter['value']]);
  const show = (changed: Record<string, string>) => go('/suppressions', { ...filter, ...changed, list: list === 'installation' ? 'all' : '' });
  return (
    <div class="listed-filter">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          show({ value: text.trim() });
        }}
      >
        <input type="search" aria-label="Address" placeholder="A whole address or domain, then Enter" value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
      </form>
      {CHOICES.map(([name, all, values]) => (
        <label key={name}>
          <span class="hidden">{all}</span>
          <select value={filter[name] ?? ''} onChange={(event) => show({ [name]: event.currentTarget.value })}>
            <option value="">{all}</option>
            {Object.entries(values).map(([value, shown]) => (
              <option key={value} value={value}>
                {shown}
              </option>
            ))}
          </select>
        </label>
      ))}
    </div>
  );
}

function Line({ entry, remove }: { entry: Entry; remove: (() => void) | null }) {
  const name = entry.value ?? 'An erased person';
  const source = entry.tool ? toolName(entry.tool) : (SOURCES[entry.source] ?? entry.source);
  return (
    <li class={entry.active ? '' : 'over'}>
      <div class="grow">
        <p class="strong cut" dir="auto" title={name}>
          {name}
        </p>
        <p class="faint cut">
          <ClientChip of={entry.client_id} /> {KINDS[entry.kind] ?? entry.kind}
          {entry.value === null && '; only a hash of it is kept'}
          {entry.note && (
            <>
              {' · '}
              <span dir="auto">{entry.note}</span>
            </>
          )}
        </p>
      </div>
      <div>
        <p class="cut">{REASONS[entry.reason] ?? entry.reason}</p>
        <p class="faint cut">{entry.delivery_id !== null && isAdmin.value ? <a class="source" href={href(`/webhooks/${entry.delivery_id}`, {}, entry.client_id)}>{source}</a> : source}</p>
      </div>
      <div class="when">
        <p>
          <Time at={entry.since} />
        </p>
        <p class="faint">
          {entry.until ? (
            <>
              {entry.active ? 'until ' : 'ended '}
              <Time at={entry.until} />
            </>
          ) : (
            'Permanent'
          )}
        </p>
      </div>
      {remove && <Button kind="quiet" icon="close" label={`Remove ${name}`} onClick={remove} />}
    </li>
  );
}

function Remove({ entry, list, onClose, reload }: { entry: Entry; list: List; onClose: () => void; reload: () => void }) {
  const name = entry.value ?? 'this entry of an erased person';
  const of = asClient(entry.client_id);
  async function run() {
    await call('DELETE', `${PATHS[list]}/${entry.id}`, of);
    reload();
    const { kind, value, reason, note, since, until } = entry;
    const source = entry.source === 'event' ? 'person' : entry.source;
    const back = async () => {
      await call('POST', PATHS[list], { ...of, body: { kind, value, reason, note, source, since, ...(until && entry.active && { until }) } });
      reload();
    };
    toast(`${value ?? 'The entry'} is not on the list any more.`, value === null ? {} : { undo: back });
  }
  return (
    <Confirm title={`Remove ${name}?`} action="Remove from the list" danger run={run} onClose={onClose}>
      <p>
        {list === 'installation' ? 'It may be contacted again by every client, unless the client’s own list has it.' : 'It may be contacted again, unless the list of all clients or its domain has it.'}
        {' '}All that was known about it up to now is over: a replay or a late webhook from before does not bring it back. A new unsubscription, complaint or bounce does.
      </p>
      {['unsubscribed', 'complained', 'legal'].includes(entry.reason) && <p class="wrong">The reason is “{REASONS[entry.reason]}”. Remove it only if the person has agreed to be contacted.</p>}
    </Confirm>
  );
}

function NoneLikeIt({ list }: { list: List }) {
  return (
    <Empty icon="search" title="No entry like this">
      <p>The list has whole addresses. Whether a domain covers an address says “Check”.</p>
      <a class="button" href={href('/suppressions', { list: list === 'installation' ? 'all' : '' })}>
        Show all entries
      </a>
    </Empty>
  );
}

function NoEntry({ list }: { list: List }) {
  return (
    <Empty icon="ban" title={list === 'client' ? 'The list is empty' : 'The list of all clients is empty'}>
      <p>
        {list === 'client'
          ? 'Unsubscriptions, complaints and hard bounces that tools report come here by themselves. Put others on it by hand: people who called, competitors, customers.'
          : 'What stands here holds for every client: the agency’s own customers, competitors, addresses of lawyers.'}
      </p>
    </Empty>
  );
}
