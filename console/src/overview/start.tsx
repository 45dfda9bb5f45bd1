/** The first screen of an empty store: what to do, in order. */
import { useEffect } from 'preact/hooks';
import { href } from '../route';
import { refreshClients } from '../session';
import { Icon } from '../ui/basic';
import { toastProblem } from '../ui/toast';

const STEPS = [
  ['Create a client', 'An organisation whose contacts, companies and tools belong together.', 'Open Clients', '/clients'],
  ['Paste an address', 'Each client has an address for its campaign tool and one for its CRM. Without a client, “default” takes what comes.', 'Show the addresses', '/clients/default'],
  ['Send a sample', 'A sample webhook shows what becomes of it, before the first real one comes.', 'Send one', '/clients/default'],
  ['Import a list', 'CSV, Excel, NDJSON or Parquet; a test run counts first.', 'Open Imports', '/imports'],
] as const;

export function Start() {
  // The first client may have come since the page was opened.
  useEffect(() => void refreshClients().catch(toastProblem), []);
  return (
    <main id="main" class="screen">
      <header class="screen-head">
        <h1>Start here</h1>
      </header>
      <ol class="start">
        {STEPS.map(([title, about, action, path], n) => (
          <li key={title}>
            <span class="step" aria-hidden="true">
              {n + 1}
            </span>
            <div>
              <h2>{title}</h2>
              <p>{about}</p>
            </div>
            <a class="button" href={href(path)}>
              {action} <Icon name="right" />
            </a>
          </li>
        ))}
      </ol>
    </main>
  );
}
