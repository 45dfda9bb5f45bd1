/** What stored calls would do under a mapping, in sentences. */
import type { Loaded } from '../load';
import { ProblemNote } from '../ui/basic';
import { count, plural, words } from '../words';

export interface Would {
  count: number;
  left: number;
  would: { outcomes: Record<string, number>; records_made: number; records_changed: number; fields: Record<string, number> } | null;
}

export function DryRun({ tried, isReady, state }: { tried: Loaded<Would | null>; isReady: boolean; state: string }) {
  const found = tried.value;
  const would = found?.would;
  const same = would?.outcomes[state] ?? 0;
  const understood = (would?.outcomes['applied'] ?? 0) + (would?.outcomes['parked'] ?? 0) + (would?.outcomes['ignored'] ?? 0);
  return (
    <div class={`dry-run ${understood ? 'good' : ''}`} role="status" aria-busy={tried.loading}>
      {tried.problem && <ProblemNote problem={tried.problem} />}
      {!isReady && !tried.problem && <p>Point at the value that says whom the call is about, such as the e-mail address. What the stored calls would do is shown here at once.</p>}
      {isReady && !found && !tried.problem && <p>Trying it on the stored calls…</p>}
      {isReady && found && would && !tried.problem && (
        <>
          <p>
            <b>
              {count(understood)} of {plural(found.count, 'stored call')} like this would be understood.
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
          {found.left > 0 && <p class="faint">{plural(found.left, 'older call')} were not tried; saving replays them too.</p>}
        </>
      )}
    </div>
  );
}
