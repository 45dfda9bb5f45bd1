/** Which status may follow which: a table of boxes, moved through by the arrow keys, stored as a setting of the client. */
import { useState } from 'preact/hooks';
import { asProblem, call as send, getForChange, type Problem } from '../api';
import { clientPath } from '../clients/requests';
import type { ClientDetail, StatusSet } from '../clients/types';
import { isAdmin } from '../session';
import { Button, ProblemNote } from '../ui/basic';
import { StatusMark } from '../ui/status';
import { toast } from '../ui/toast';
import { plural, words } from '../words';
import type { Kind, StatusRow } from './types';

/** A status -> those that may follow it; null: all of them. */
type Allowed = Record<string, string[] | null>;

interface Props {
  client: string;
  kind: Kind;
  /** The declared statuses, in order. */
  statuses: readonly StatusRow[];
  onSaved: () => void;
}

export function Transitions({ client, kind, statuses, onSaved }: Props) {
  const [changes, setChanges] = useState<Allowed>({});
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const names = statuses.map((each) => each.name);
  const stored: Allowed = Object.fromEntries(statuses.map((each) => [each.name, each.next]));
  const changed = Object.keys(changes);
  const of = (from: string): string[] | null => (from in changes ? (changes[from] ?? null) : (stored[from] ?? null));

  function put(from: string, next: string[] | null) {
    const { [from]: _, ...rest } = changes;
    setChanges(JSON.stringify(next) === JSON.stringify(stored[from] ?? null) ? rest : { ...rest, [from]: next });
  }
  function toggle(from: string, to: string) {
    const now = of(from) ?? names.filter((each) => each !== from);
    const next = now.includes(to) ? now.filter((each) => each !== to) : names.filter((each) => each === to || now.includes(each));
    put(from, next);
  }

  async function save(event: Event) {
    event.preventDefault();
    if (busy || !changed.length) return;
    setBusy(true);
    setProblem(null);
    const before = Object.fromEntries(changed.map((each) => [each, stored[each] ?? null]));
    try {
      await store(client, kind, changes);
      setChanges({});
      onSaved();
      toast('The allowed changes are saved.', { undo: () => store(client, kind, before).then(onSaved) });
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }

  return (
    <form class="transitions" onSubmit={(event) => void save(event)}>
      <h3 id="transitions">Which may follow</h3>
      <p class="faint">
        A change that is not checked is refused to requests, imports and this console; what tools report is taken as it is. “Any” also allows statuses that are added later.
        {isAdmin.value && ' The arrow keys move, the space bar changes.'}
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="transitions">
        <table class="table matrix" onKeyDown={move}>
          <thead>
            <tr>
              <th scope="col">After</th>
              <th scope="col">Any</th>
              {names.map((each) => (
                <th key={each} scope="col" class="to" title={each}>
                  <span class="cut" dir="auto">
                    {words(each)}
                  </span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {names.map((from) => {
              const next = of(from);
              return (
                <tr key={from} class={from in changes ? 'changed' : ''}>
                  <th scope="row">
                    <StatusMark status={from} />
                  </th>
                  <td>
                    <Box label={`After ${from}, any`} checked={next === null} change={() => put(from, next === null ? names.filter((each) => each !== from) : null)} />
                  </td>
                  {names.map((to) => (
                    <td key={to}>
                      {to === from ? <span class="absent" aria-hidden="true">–</span> : <Box label={`After ${from}, ${to}`} checked={next === null || next.includes(to)} soft={next === null} change={() => toggle(from, to)} />}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {problem && <ProblemNote problem={problem} />}
      {isAdmin.value && (
        <div class={`save-bar ${changed.length ? 'shown' : ''}`}>
          <span>{changed.length ? `${plural(changed.length, 'status', 'statuses')} changed` : 'Nothing changed'}</span>
          <span class="push" />
          <Button disabled={!changed.length} onClick={() => setChanges({})}>
            Discard
          </Button>
          <Button type="submit" kind="main" busy={busy} disabled={!changed.length}>
            Save
          </Button>
        </div>
      )}
    </form>
  );
}

function Box({ label, checked, soft, change }: { label: string; checked: boolean; soft?: boolean; change: () => void }) {
  return <input type="checkbox" class={soft ? 'soft' : ''} aria-label={label} checked={checked} disabled={!isAdmin.value} onChange={change} />;
}

/** Move the focus among the boxes by the arrow keys. */
function move(event: KeyboardEvent): void {
  const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  const cell = event.target instanceof Element ? event.target.closest('td') : null;
  const row = cell?.closest('tr');
  const rows = row?.parentElement?.children;
  if (!step || !cell || !row || !rows) return;
  event.preventDefault();
  event.stopPropagation();
  let [down, right] = [[...rows].indexOf(row), cell.cellIndex];
  // Over the place without a box.
  for (let n = 0; n < 2; n++) {
    down += step[0] ?? 0;
    right += step[1] ?? 0;
    const box = rows[down]?.children[right]?.querySelector<HTMLInputElement>('input');
    if (box) {
      box.focus();
      return;
    }
  }
}

/** Store these statuses' followers; what others have changed since the page was opened stays. */
async function store(client: string, kind: Kind, changes: Allowed): Promise<void> {
  const { data, unchanged } = await getForChange<ClientDetail>(clientPath(client));
  const { settings } = data;
  const name = kind === 'contacts' ? 'contact_statuses' : 'company_statuses';
  const now: StatusSet | null = settings[name];
  if (!now) return;
  const transitions = { ...now.transitions };
  for (const [from, next] of Object.entries(changes)) {
    if (next === null) delete transitions[from];
    else transitions[from] = next;
  }
  await send('PUT', clientPath(client), { body: { settings: { ...settings, [name]: { ...now, transitions } } }, headers: unchanged });
}
