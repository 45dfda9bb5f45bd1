/** Putting addresses on a list: one, or many pasted ones. */
import { useState } from 'preact/hooks';
import { asProblem, call, post, type Problem } from '../api';
import { Button, ProblemNote } from '../ui/basic';
import { Dialog } from '../ui/overlay';
import { toast } from '../ui/toast';
import { count, plural } from '../words';
import { addressesOf, PATHS, REASONS, type List, type Saved } from './types';

const PART = 1000;

interface Refused {
  value: string;
  detail: string;
}

export function Add({ list, onClose, reload }: { list: List; onClose: () => void; reload: () => void }) {
  const [text, setText] = useState('');
  const [reason, setReason] = useState('requested');
  const [note, setNote] = useState('');
  const [until, setUntil] = useState('');
  const [busy, setBusy] = useState(0);
  const [refused, setRefused] = useState<readonly Refused[]>([]);
  const [problem, setProblem] = useState<Problem | null>(null);
  const addresses = addressesOf(text);

  async function save(event: Event) {
    event.preventDefault();
    if (!addresses.length || busy) return;
    const sums = { created: 0, updated: 0, unchanged: 0 };
    const made: number[] = [];
    const bad: Refused[] = [];
    setProblem(null);
    try {
      for (let at = 0; at < addresses.length; at += PART) {
        const part = addresses.slice(at, at + PART);
        setBusy(at + part.length);
        const entries = part.map((value) => ({ value, reason, source: 'person', note: note.trim(), ...(until && { until: `${until}T23:59:59Z` }) }));
        const saved = await post<Saved>(PATHS[list], { entries });
        for (const name of ['created', 'updated', 'unchanged'] as const) sums[name] += saved[name];
        saved.data.forEach((each, n) => {
          if (each.outcome === 'created' && each.entry) made.push(each.entry.id);
          if (each.outcome === 'invalid') bad.push({ value: part[n] ?? '', detail: each.errors[0]?.detail ?? 'it is no address' });
        });
      }
      const kept = sums.created + sums.updated + sums.unchanged;
      if (kept) {
        const before = sums.updated + sums.unchanged;
        const undo = made.length <= PART ? { undo: () => removeAll(list, made).finally(reload) } : {};
        toast(`${plural(kept, 'address', 'addresses')} on the list${before ? `, ${count(before)} of them stood there before` : ''}.`, made.length ? undo : {});
      }
      reload();
      if (!bad.length) onClose();
      setText(bad.map((each) => each.value).join('\n'));
      setRefused(bad);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(0);
  }

  return (
    <Dialog title={list === 'client' ? 'Block addresses' : 'Block addresses for all clients'} onClose={onClose}>
      <form class="stack" onSubmit={(event) => void save(event)}>
        <label>
          Addresses, one a line
          <textarea
            rows={6}
            autofocus
            required
            spellcheck={false}
            value={text}
            placeholder={'jane.doe@example.com\nexample.org\nlinkedin.com/in/john-doe'}
            aria-describedby="add-help"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <p id="add-help" class="faint">
          Email addresses, domains and LinkedIn addresses. A domain covers its subdomains and every address at them.
        </p>
        <div class="pair">
          <label class="grow">
            Reason
            <select value={reason} onChange={(event) => setReason(event.currentTarget.value)}>
              {Object.entries(REASONS).map(([key, name]) => (
                <option key={key} value={key}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <label class="grow">
            Until, or permanent
            <input type="date" value={until} onInput={(event) => setUntil(event.currentTarget.value)} />
          </label>
        </div>
        <label>
          Note, for people
          <input type="text" value={note} maxLength={1000} placeholder="asked by phone" onInput={(event) => setNote(event.currentTarget.value)} />
        </label>
        {refused.length > 0 && (
          <div class="problem" role="alert">
            <div>
              <p>{plural(refused.length, 'line was', 'lines were')} not taken; the field has them still.</p>
              <ul class="refused-lines">
                {refused.slice(0, 50).map((each) => (
                  <li key={each.value} dir="auto">
                    <b>{each.value}</b> {each.detail}
                  </li>
                ))}
              </ul>
            </div>
          </div>
        )}
        {problem && <ProblemNote problem={problem} />}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="main" busy={busy > 0} disabled={!addresses.length}>
            {busy ? `Blocking ${count(busy)} of ${count(addresses.length)}…` : addresses.length > 1 ? `Block ${count(addresses.length)}` : 'Block'}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

async function removeAll(list: List, ids: readonly number[]): Promise<void> {
  for (let at = 0; at < ids.length; at += 8) await Promise.all(ids.slice(at, at + 8).map((id) => call('DELETE', `${PATHS[list]}/${id}`)));
}
