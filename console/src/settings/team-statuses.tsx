/** The team's statuses, for all clients: order, label, colour, group, key, and whether they end the conversation. */
import { useState } from 'preact/hooks';
import { asProblem, call, type Problem } from '../api';
import { useRead } from '../data';
import { readLooks } from '../looks';
import type { Schemas } from '../types';
import { Button, LoadProblem, ProblemNote, Skeleton } from '../ui/basic';
import { Mark } from '../ui/status';
import { toast } from '../ui/toast';
import { words } from '../words';

type TeamStatus = Schemas['TeamStatus'];
const PATH = '/team/v1/statuses';
const HUES = ['grey', 'blue', 'teal', 'violet', 'pink', 'green', 'lime', 'amber', 'orange', 'red'] as const;
const GROUPS = ['new', 'active', 'won', 'lost', 'blocked'] as const;

export function useTeamStatuses() {
  return useRead(PATH, async (signal) => {
    const { data, headers } = await call<Schemas['TeamStatuses']>('GET', PATH, { signal });
    return { statuses: data.data, tag: headers.get('etag') ?? '' };
  });
}

export function TeamStatuses() {
  const loaded = useTeamStatuses();
  const [draft, setDraft] = useState<TeamStatus[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const rows = draft ?? loaded.data?.statuses ?? [];
  const put = (index: number, change: Partial<TeamStatus>) => setDraft(rows.map((row, n) => (n === index ? { ...row, ...change } : row)));
  function move(index: number, by: number) {
    const next = [...rows];
    const [row] = next.splice(index, 1);
    if (row) next.splice(index + by, 0, row);
    setDraft(next);
  }
  async function save(event: Event) {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await call('PUT', PATH, { body: { data: rows }, headers: { 'if-match': loaded.data?.tag ?? '' } });
      await loaded.refetch();
      setDraft(null);
      void readLooks();
      toast('The statuses are saved.');
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }
  return (
    <form class="panel" aria-labelledby="team-statuses" onSubmit={(event) => void save(event)}>
      <header class="row">
        <h2 id="team-statuses">Statuses of all clients</h2>
        <span class="push" />
        <Button icon="plus" onClick={() => setDraft([...rows, { name: '', label: '', color: 'grey', group: 'active', key: null, closes: false, expected_days: null }])}>
          Add to the list
        </Button>
      </header>
      <p class="faint">How statuses look, the digits that set them in Replies, and after how many days the board marks a card. A client has them if it declares or uses them.</p>
      <LoadProblem of={loaded} />
      {!loaded.data && !loaded.error && <Skeleton lines={4} wide={100} />}
      <ul class="lines" aria-label="Statuses of all clients">
        {rows.map((row, index) => {
          const of = row.name || `status ${index + 1}`;
          return (
            <li key={index} class="line-of team-status">
              <Mark hue={row.color ?? 'grey'} group={row.group ?? 'active'}>{row.label || words(row.name) || 'New status'}</Mark>
              <input type="text" required aria-label={`Name of ${of}`} placeholder="meeting_booked" value={row.name} onInput={(event) => put(index, { name: event.currentTarget.value })} />
              <input type="text" aria-label={`Label of ${of}`} placeholder={words(row.name)} value={row.label ?? ''} onInput={(event) => put(index, { label: event.currentTarget.value })} />
              <select aria-label={`Colour of ${of}`} value={row.color} onChange={(event) => put(index, { color: event.currentTarget.value as (typeof HUES)[number] })}>
                {HUES.map((hue) => <option key={hue} value={hue}>{words(hue)}</option>)}
              </select>
              <select aria-label={`Group of ${of}`} value={row.group} onChange={(event) => put(index, { group: event.currentTarget.value as (typeof GROUPS)[number] })}>
                {GROUPS.map((group) => <option key={group} value={group}>{words(group)}</option>)}
              </select>
              <select aria-label={`Key of ${of}`} value={String(row.key ?? '')} onChange={(event) => put(index, { key: event.currentTarget.value ? Number(event.currentTarget.value) : null })}>
                <option value="">No key</option>
                {[1, 2, 3, 4, 5, 6, 7, 8, 9].map((key) => <option key={key} value={String(key)}>{key}</option>)}
              </select>
              <input
                type="number"
                min={1}
                max={3650}
                aria-label={`Days that are usual in ${of}`}
                placeholder="Days"
                value={row.expected_days ?? ''}
                onInput={(event) => put(index, { expected_days: event.currentTarget.value ? Number(event.currentTarget.value) : null })}
              />
              <label class="check">
                <input type="checkbox" checked={row.closes ?? false} onChange={(event) => put(index, { closes: event.currentTarget.checked })} />
                <span>Done with it</span>
              </label>
              <div class="tools">
                <Button disabled={index === 0} aria-label={`Move ${of} up`} onClick={() => move(index, -1)}>Up</Button>
                <Button disabled={index === rows.length - 1} aria-label={`Move ${of} down`} onClick={() => move(index, 1)}>Down</Button>
                <Button kind="danger" aria-label={`Remove ${of} from the list`} onClick={() => setDraft(rows.filter((_, n) => n !== index))}>Remove</Button>
              </div>
            </li>
          );
        })}
      </ul>
      {problem && <ProblemNote problem={problem} />}
      <div class="row">
        <Button type="submit" kind="main" busy={busy} disabled={!draft}>Apply to all clients</Button>
        {draft && <Button onClick={() => (setDraft(null), setProblem(null))}>Discard</Button>}
      </div>
    </form>
  );
}
