/** Asking before a mail: which of some pasted addresses must not be contacted. */
import { useState } from 'preact/hooks';
import { asProblem, post, type Problem } from '../api';
import { cell, save } from '../csv';
import { Button, ProblemNote, Time } from '../ui/basic';
import { Dialog } from '../ui/overlay';
import { count, plural } from '../words';
import { addressesOf, PATHS, REASONS, type Checked, type List } from './types';

const PART = 1000;

interface Result {
  asked: string;
  found: Checked;
}

/** An address as the item of a check. */
function itemOf(address: string): Record<string, string> {
  if (/linkedin\.com\//i.test(address)) return { linkedin_url: address };
  return address.includes('@') ? { email: address } : { domain: address };
}

export function Check({ list, onClose }: { list: List; onClose: () => void }) {
  const [text, setText] = useState('');
  const [results, setResults] = useState<readonly Result[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const addresses = addressesOf(text);

  async function check(event: Event) {
    event.preventDefault();
    if (!addresses.length || busy) return;
    setBusy(true);
    setProblem(null);
    try {
      const found: Result[] = [];
      for (let at = 0; at < addresses.length; at += PART) {
        const part = addresses.slice(at, at + PART);
        const made = await post<{ data: Checked[] }>(`${PATHS[list]}/check`, { items: part.map(itemOf) });
        made.data.forEach((each, n) => found.push({ asked: part[n] ?? '', found: each }));
      }
      setResults(found);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }

  return (
    <Dialog title="Check addresses" wide onClose={onClose}>
      <form class="stack" onSubmit={(event) => void check(event)}>
        <label>
          Addresses, one a line
          <textarea rows={5} autofocus required spellcheck={false} value={text} placeholder={'jane.doe@example.com\nexample.org'} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <footer>
          <Button type="submit" kind="main" busy={busy} disabled={!addresses.length}>
            {addresses.length > 1 ? `Check ${count(addresses.length)}` : 'Check'}
          </Button>
        </footer>
      </form>
      {problem && <ProblemNote problem={problem} />}
      {results && <Results results={results} />}
    </Dialog>
  );
}

function Results({ results }: { results: readonly Result[] }) {
  const free = results.filter((each) => !each.found.suppressed && !each.found.errors.length);
  const others = results.filter((each) => each.found.suppressed || each.found.errors.length);
  return (
    <section class="stack" aria-label="Result">
      <p role="status">
        {plural(free.length, 'address', 'addresses')} may be contacted, {count(others.length)} not.
      </p>
      {others.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Not to be contacted">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Address</th>
                <th scope="col">Why</th>
                <th scope="col">Entry</th>
              </tr>
            </thead>
            <tbody>
              {others.slice(0, 200).map(({ asked, found }) => (
                <tr key={asked}>
                  <th scope="row" dir="auto">
                    {asked}
                  </th>
                  <td>{found.suppressed ? (REASONS[found.reason ?? ''] ?? found.reason) : <span class="wrong">{found.errors[0]?.detail}</span>}</td>
                  <td>
                    {found.value}
                    {found.since && (
                      <span class="faint">
                        {' '}
                        since <Time at={found.since} />
                        {found.list === 'installation' && ', for all clients'}
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {free.length > 0 && (
        <p>
          <Button icon="download" onClick={() => save('may-be-contacted.csv', ['address', ...free.map((each) => cell(each.asked))].join('\r\n'))}>
            {`Fetch the ${count(free.length)} that may be contacted`}
          </Button>
        </p>
      )}
    </section>
  );
}
