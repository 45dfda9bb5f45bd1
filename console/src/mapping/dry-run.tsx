/** What stored calls would do under a mapping, in sentences. */
import type { UseQueryResult } from '@tanstack/preact-query';
import type { Problem } from '../api';
import { ProblemNote } from '../ui/basic';
import { count, plural, words } from '../words';

export interface Would {
  count: number;
  left: number;
  would: { outcomes: Record<string, number>; records_made: number; records_changed: number; fields: Record<string, number> } | null;
}

export function DryRun({ tried, isReady, state }: { tried: UseQueryResult<Would | null, Problem>; isReady: boolean; state: string }) {
  const found = tried.data;
  const would = found?.would;
  const same = would?.outcomes[state] ?? 0;
  const understood = (would?.outcomes['applied'] ?? 0) + (would?.outcomes['parked'] ?? 0) + (would?.outcomes['ignored'] ?? 0);
  return (
    <div class={`dry-run ${understood ? 'good' : ''}`} role="status" aria-busy={tried.isFetching}>
      {tried.error && <ProblemNote problem={tried.error} />}
      {!isReady && !tried.error && <p>Point at the value that says whom the webhook is about, such as the email address. What the stored webhooks would do is shown here at once.</p>}
      {isReady && !found && !tried.error && <p>Trying it on the stored webhooks…</p>}
      {isReady && found && would && !tried.error && (
        <>
          <p>
            <b>
              {count(understood)} of {plural(found.count, 'stored webhook')} like this would be recognised.
            </b>
          </p>
          <ul>
            {Object.entries(would.outcomes).map(([outcome, calls]) => (
              <li key={outcome}>
                {words(outcome)}: {count(calls)}
              </li>
            ))}
            {would.records_made > 0 && <li>{plural(would.records_made, 'record')} made</li>}
            {Object.entries(would.fields).map(([field, records]) => (
              <li key={field}>
                {words(field)} of {plural(records, 'record')}
              </li>
            ))}
          </ul>
          {same === found.count && found.count > 0 && <p>Nothing changes yet. Point at another value, or say what the event means.</p>}
          {found.left > 0 && <p class="faint">{plural(found.left, 'older webhook')} were not tried; saving replays them too.</p>}
        </>
      )}
    </div>
  );
}
