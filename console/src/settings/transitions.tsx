/** Which statuses may follow each status, stored as a setting of the client. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { asProblem, call as send, getForChange, type Problem } from '../api';
import { clientPath } from '../clients/requests';
import type { ClientDetail, StatusSet } from '../clients/types';
import { isAdmin } from '../session';
import { Button, ProblemNote } from '../ui/basic';
import { Popover } from '../ui/overlay';
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
      toast('What may follow is saved.', { undo: () => store(client, kind, before).then(onSaved) });
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }

  return (
    <form class="transitions" onSubmit={(event) => void save(event)}>
      <h3 id="transitions">What may follow each status</h3>
      <p class="faint">
        Another change is refused to requests, imports and this console; what tools report is taken as it is.
      </p>
      <ul class="lines" aria-labelledby="transitions">
        {names.map((from) => {
          const next = of(from);
          return (
            <li key={from} class="line-of follows">
              <StatusMark status={from} />
              <span class={from in changes ? 'changed' : 'faint'} dir="auto">
                {next === null ? 'Any status' : next.map(words).join(', ') || 'None: it is final'}
              </span>
              {isAdmin.value && (
                <Popover text="Change" label={`Change what may follow ${from}`}>
                  {() => (
                    <fieldset class="filter-form">
                      <legend class="hidden">What may follow {from}</legend>
                      <Box checked={next === null} change={() => put(from, next === null ? names.filter((each) => each !== from) : null)}>
                        Any status, later ones too
                      </Box>
                      {names.filter((to) => to !== from).map((to) => (
                        <Box key={to} checked={next === null || next.includes(to)} change={() => toggle(from, to)}>
                          <StatusMark status={to} />
                        </Box>
                      ))}
                    </fieldset>
                  )}
                </Popover>
              )}
            </li>
          );
        })}
      </ul>
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

function Box({ checked, change, children }: { checked: boolean; change: () => void; children: ComponentChildren }) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={change} />
      {children}
    </label>
  );
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
