/** Two people changed the same values: the second sees both, and chooses. */
import { computed, signal } from '@preact/signals';
import { Problem } from '../api';
import { Button } from './basic';
import { Dialog } from './overlay';

export interface Difference {
  label: string;
  theirs: string;
  mine: string;
}

type Values = ReadonlyMap<string, unknown>;

function text(value: unknown): string {
  if (Array.isArray(value)) return value.map(text).join(', ');
  if (typeof value === 'boolean') return value ? 'On' : 'Off';
  return value === null || value === undefined ? '' : typeof value === 'object' ? Object.values(value).map(text).join(' ') : `${value as string}`;
}

/** What this person would replace that somebody else changed since it was read. */
export function differencesOf(before: Values, mine: Values, present: Values, labelOf: (name: string) => string): (Difference & { name: string })[] {
  return [...mine].flatMap(([name, value]) => {
    const [was, theirs, own] = [text(before.get(name)), text(present.get(name)), text(value)];
    return own === was || theirs === was || theirs === own ? [] : [{ name, label: labelOf(name), theirs, mine: own }];
  });
}

interface Question {
  /** Who made the other change, and when. */
  by: string;
  differences: readonly Difference[];
  answer: (isMine: boolean) => void;
}

const question = signal<Question | null>(null);

/** Whether a person is asked: what waits for the answer is not busy. */
export const isAsked = computed(() => question.value !== null);

/** Ask whether a change of this person replaces what somebody set meanwhile. */
export function choosesMine(by: string, differences: readonly Difference[]): Promise<boolean> {
  question.value?.answer(false);
  return new Promise((answer) => (question.value = { by, differences, answer }));
}

interface Versioned {
  version: string;
}

/** Send a change that names the version of what it changes. Where somebody changed that meanwhile the person chooses; undefined: they keep theirs. */
export async function sendVersioned<T extends Versioned, R>(of: T, read: () => Promise<T | undefined>, differencesTo: (present: T) => Difference[], send: (present: T) => Promise<R>): Promise<{ result: R } | undefined> {
  try {
    return { result: await send(of) };
  } catch (error) {
    const present = error instanceof Problem && error.status === 412 ? await read() : undefined;
    if (!present) throw error;
    const differences = differencesTo(present);
    if (differences.length && !(await choosesMine('Somebody changed this', differences))) return undefined;
    return sendVersioned(present, read, differencesTo, send);
  }
}

function end(isMine: boolean): void {
  question.value?.answer(isMine);
  question.value = null;
}

export function Conflict() {
  const asked = question.value;
  if (!asked) return null;
  return (
    <Dialog title="Changed meanwhile" onClose={() => end(false)}>
      <p>{asked.by} while you were here. Nothing of yours is saved yet.</p>
      <div class="scroll differences" tabIndex={0} role="region" aria-label="Both values">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Theirs</th>
              <th scope="col">Yours</th>
            </tr>
          </thead>
          <tbody>
            {asked.differences.map(({ label, theirs, mine }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td dir="auto">{theirs || <span class="faint">Empty</span>}</td>
                <td dir="auto">{mine || <span class="faint">Empty</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <footer>
        <Button autofocus onClick={() => end(false)}>
          Keep theirs
        </Button>
        <Button kind="main" onClick={() => end(true)}>
          Use mine
        </Button>
      </footer>
    </Dialog>
  );
}
