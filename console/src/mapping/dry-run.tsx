/** What stored calls would do under a mapping, in sentences. */
import type { UseQueryResult } from '@tanstack/preact-query';
import type { Problem } from '../api';
import { ProblemNote } from '../ui/basic';
import { count, plural, words } from '../words';

export interface Would {
  count: number;
  left: number;
  would: { outcomes: Record<string, number>; records_made: number; records_changed: number; fields: Record<string, number>; deliveries: readonly Tried[] } | null;
}

/** What would become of one stored webhook. */
interface Tried {
  id: number;
  state: string;
  would_be: string;
  error: string | null;
  records: readonly { record: string; id: number | null; changed: Record<string, readonly unknown[]> }[];
}

/** Webhooks that are listed one by one. */
const LISTED = 20;

/** Fields that follow from others, and say nothing about the mapping. */
const FOLLOWING = new Set(['origin', 'status_changed_at', 'previous_status']);

function One({ of }: { of: Tried }) {
  return (
    <li>
      <b>Webhook {of.id}</b>: {words(of.would_be).toLowerCase()}
      {of.state !== of.would_be && of.state && <span class="faint"> (now {words(of.state).toLowerCase()})</span>}
      {of.error && <span class="wrong"> {of.error}</span>}
      {of.records.map((each, n) => (
        <p key={n} class="faint" dir="auto">
          {each.id === null ? `New ${each.record}` : `${words(each.record)} ${each.id}`}: {Object.entries(each.changed).filter(([field]) => !FOLLOWING.has(field)).map(([field, [before, after]]) => `${words(field)} ${before === null || before === undefined ? '' : `${String(before)} → `}${String(after ?? 'none')}`).join(', ') || 'nothing changes'}
        </p>
      ))}
    </li>
  );
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
          <details>
            <summary>What each webhook would do</summary>
            <ul>
              {would.deliveries.slice(0, LISTED).map((each) => (
                <One key={each.id} of={each} />
              ))}
            </ul>
            {would.deliveries.length > LISTED && <p class="faint">And {count(would.deliveries.length - LISTED)} more, as `touchbase connections add --dry-run` lists them.</p>}
          </details>
          {same === found.count && found.count > 0 && <p>Nothing changes yet. Point at another value, or say what the event means.</p>}
          {found.left > 0 && <p class="faint">{plural(found.left, 'older webhook')} were not tried; saving replays them too.</p>}
        </>
      )}
    </div>
  );
}
