/** The history: what was done to many records at once, by whom, and the way back. */
import { useState } from 'preact/hooks';
import { get } from '../api';
import { usePages } from '../data';
import { nobody, VIA } from '../record/source';
import { client, go, href, place, type Query } from '../route';
import { clients, session, showsAll } from '../session';
import { useTitle } from '../title';
import { Button, Empty, LoadProblem, Skeleton, Time } from '../ui/basic';
import { ClientChip } from '../ui/client-chip';
import { Mark, type Group, type Hue } from '../ui/status';
import { Effects } from './effects';
import { reverting, type Change } from './open';
import { CHANGES, changeName, summary } from './revert';

const KINDS: readonly (readonly [string, string])[] = [['import', 'Imports'], ['bulk', 'Changes of many'], ['merge', 'Merges'], ['delete', 'Deletions'], ['block', 'Blocks'], ['rename', 'Renames'], ['mapping', 'Mappings'], ['edit', 'Edits'], ['revert', 'Reverts']];
const STATES: Record<string, readonly [string, Hue, Group]> = {
  reverting: ['Reverting', 'blue', 'active'], reverted: ['Reverted', 'grey', 'lost'], partly: ['Partly reverted', 'amber', 'active'],
};
const SOON = 1500;

export function History() {
  const { query } = place.value;
  const kind = query.get('kind') ?? '';
  const who = query.get('who') ?? '';
  const one = query.get('change');
  const filter = { ...(one && { change: one }), ...(client.value && { client_id: client.value }), ...(kind && { kind }), ...(who && { actor_id: who }), limit: '50' };
  const loaded = usePages<Change>(CHANGES, filter, { ...(one && { read: async (_: Query, signal: AbortSignal) => ({ data: [await get<Change>(`${CHANGES}/${client.value}/${one}`, {}, signal)], next_cursor: null }) }), refetchInterval: (pages) => (pages.some((page) => page.data.some((each) => each.state === 'reverting')) ? SOON : false) });
  useTitle('History');
  const show = (changes: Record<string, string>) => go('/history', Object.entries({ kind, who, ...changes }).filter(([, value]) => value), true);
  return (
    <main id="main" class="screen clients">
      <header class="screen-head">
        <h1>History</h1>
        <span class="push" />
        {!showsAll.value && (
          <a class="button" href={href('/imports')}>
            All jobs
          </a>
        )}
        {one && (
          <a class="button" href={href('/history')}>
            All changes
          </a>
        )}
        <a class="button" href={href('/bin')}>
          Bin
        </a>
        {session.value?.user && (
          <div class="switch" role="group" aria-label="Whose changes">
            <button type="button" aria-pressed={!who} onClick={() => show({ who: '' })}>
              Everybody’s
            </button>
            <button type="button" aria-pressed={who === 'me'} onClick={() => show({ who: 'me' })}>
              Mine
            </button>
          </div>
        )}
        <label>
          <span class="hidden">Kind</span>
          <select value={kind} onChange={(event) => show({ kind: event.currentTarget.value })}>
            <option value="">All kinds</option>
            {KINDS.map(([name, text]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </select>
        </label>
      </header>
      <LoadProblem of={loaded} />
      {!loaded.data && !loaded.error && <Skeleton lines={8} wide={100} />}
      {loaded.data?.length === 0 && (
        <Empty icon="undo" title={kind || who ? 'None like this' : 'Nothing was changed yet'}>
          <p>Imports, changes of many records, merges, deletions, blocks, renames and mappings are listed here, and can be reverted. Single edits are in the timeline of their record.</p>
        </Empty>
      )}
      {loaded.data && loaded.data.length > 0 && (
        <ul class="lines" aria-label="Changes">
          {loaded.data.map((each) => (
            <li key={`${each.client_id} ${each.id}`} class="line-of">
              <Line change={each} />
            </li>
          ))}
        </ul>
      )}
      {loaded.hasMore && <Button onClick={loaded.more}>Show older</Button>}
    </main>
  );
}

/** Whether the person may write for the change's client. */
function mayWrite(change: Change): boolean {
  return (clients.value.find((each) => each.client_id === change.client_id)?.scopes ?? session.value?.scopes ?? []).includes('records:write');
}

function Line({ change }: { change: Change }) {
  const { actor } = change;
  const [isShown, show] = useState(false);
  const name = changeName(change);
  const state = STATES[change.state];
  const who = actor.name || (actor.type === 'anyone' ? nobody() : actor.id);
  const way = actor.via === 'job' && change.kind === 'import' ? 'import' : VIA[actor.via];
  return (
    <>
      <div class="what">
        <b>
          {change.job_id !== null && !showsAll.value ? <a href={href(`/imports/${change.job_id}`)}>{name}</a> : name}{' '}
          {state && (
            <Mark hue={state[1]} group={state[2]}>
              {state[0]}
            </Mark>
          )}
        </b>
        <span class="faint cut"><ClientChip of={change.client_id} /> {summary(change.counts)}</span>
        {change.state !== 'open' && summary(change.revert_counts) && <span class="faint cut">Reverted: {summary(change.revert_counts)}</span>}
      </div>
      <div class="what">
        <span dir="auto">{who}</span>
        <span class="faint">
          by {way}, <Time at={change.at} />
        </span>
      </div>
      <div class="tools">
        <Button kind="quiet" aria-label={`What changed: ${name}`} onClick={() => show(true)}>
          What changed
        </Button>
        {isShown && <Effects change={change} onClose={() => show(false)} />}
        {mayWrite(change) && change.revertible && (
          <Button icon="undo" aria-label={`Revert ${name}`} onClick={() => (reverting.value = change)}>
            Revert
          </Button>
        )}
        {!change.revertible && change.state === 'open' && <span class="faint">Cannot be reverted: {change.why_not}</span>}
      </div>
    </>
  );
}
