/** What stored webhooks would do under a mapping: the changes first, then what changes nothing and why. */
import type { UseQueryResult } from '@tanstack/preact-query';
import type { Problem } from '../api';
import type { Slot } from './slots';
import { memberName } from '../kinds/kind';
import type { Schemas } from '../types';
import { ProblemNote } from '../ui/basic';
import { count, plural, words } from '../words';

export type Would = Schemas['ReplayOut'];
type Tried = Schemas['DryRunDeliveryOut'];

/** Webhooks that are listed one by one. */
const LISTED = 20;
/** Fields that follow from others, and say nothing about the mapping. */
const FOLLOWING = new Set(['origin', 'status_changed_at', 'previous_status']);
const EFFECTS: readonly (readonly [string, string])[] = [
  ['changes', 'would change a record'], ['already_known', 'already known: records have these values'], ['timeline_only', 'timeline only: no value of a record changes'], ['no_effect', 'no effect: ignored, or the record is unknown'],
  ['not_recognised', 'still not recognised'],
];

function One({ of }: { of: Tried }) {
  const effect = EFFECTS.find(([name]) => name === of.effect)?.[1] ?? words(of.effect);
  return (
    <li>
      <b>Webhook {of.id}</b>: {of.effect === 'changes' ? effect : effect.split(':')[0]}
      {of.error && <span class={of.effect === 'not_recognised' ? 'wrong' : 'faint'}> {of.error}</span>}
      {of.records.map((each, n) => (
        <p key={n} class="faint" dir="auto">
          {each.id === null ? `New ${each.record}` : `${words(each.record)} ${each.id}`}: {Object.entries(each.changed).filter(([field]) => !FOLLOWING.has(field)).map(([field, [before, after]]) => `${memberName(field)}: ${String(before ?? 'none')} → ${String(after ?? 'none')}`).join(', ') || 'nothing changes'}
        </p>
      ))}
    </li>
  );
}

/** Whether an event of this meaning is ignored. */
export const isIgnored = (means: string | undefined) => means === 'other' || means === 'ignored';

/** What a mapping still lacks; empty: it can be saved. */
export function missing(tried: Would | null | undefined, who: boolean, means: string | undefined): string {
  const whom = 'Point at the value that says whom the webhook is about, such as the email address.';
  if (!who) return whom;
  const effects = tried?.would?.effects;
  if (!effects) return 'Trying it on the stored webhooks…';
  if (effects['changes']) return '';
  if (isIgnored(means)) return effects['no_effect'] ? '' : 'The webhooks would not be ignored: point at the event.';
  if (means && effects['timeline_only']) return '';
  if (effects['not_recognised']) return means ? whom : 'Nothing would change. Say what it means: point at the event and choose its meaning, or point at the status.';
  if (effects['timeline_only']) return 'Nothing would change: it would stand in the timeline only. Choose what the event means, or point at the status or a field.';
  if (effects['already_known']) return 'Nothing would change: the records have these values. Point at another value.';
  return 'Nothing would change: no record has this address or id, or the event is ignored. Point at another value.';
}

interface DryRunProps {
  tried: UseQueryResult<Would | null, Problem>;
  lacks: string;
  /** The webhook whose body is shown. */
  of: number;
  /** Names of fields, and what chooses one. */
  slots: readonly Slot[];
  choose: (name: string) => void;
}

export function DryRun({ tried, lacks, of, slots, choose }: DryRunProps) {
  const found = tried.data;
  const would = found?.would;
  const changing = would?.effects['changes'] ?? 0;
  return (
    <div class={`dry-run ${changing ? 'good' : ''}`} role="status" aria-busy={tried.isFetching}>
      {tried.error && <ProblemNote problem={tried.error} />}
      {found && would && !tried.error && (
        <>
          <p>
            <b>
              {count(changing)} of {plural(found.count, 'stored webhook')} like this would change a record.
            </b>
          </p>
          <ul>
            {EFFECTS.filter(([name]) => name !== 'changes' && would.effects[name]).map(([name, text]) => (
              <li key={name}>
                {count(would.effects[name] ?? 0)} {text}
              </li>
            ))}
            {would.records_made > 0 && <li>{plural(would.records_made, 'record')} would be created</li>}
            {Object.entries(would.fields).filter(([field]) => !FOLLOWING.has(field)).map(([field, records]) => (
              <li key={field}>
                {memberName(field)} of {plural(records, 'record')}
              </li>
            ))}
          </ul>
          {slots.map(({ name, text }) => {
            const path = would.deliveries.find((each) => each.id === of)?.inferred[name];
            return path && (
              <p key={name}>
                {text}: <code dir="auto">{path}</code> · <button type="button" class="link" aria-label={`Change ${text}`} onClick={() => choose(name)}>change</button>
              </p>
            );
          })}
          <details>
            <summary>What each webhook would do</summary>
            <ul>
              {would.deliveries.slice(0, LISTED).map((each) => (
                <One key={each.id} of={each} />
              ))}
            </ul>
            {would.deliveries.length > LISTED && <p class="faint">And {count(would.deliveries.length - LISTED)} more, as `touchbase connections add --dry-run` lists them.</p>}
          </details>
          {found.left > 0 && <p class="faint">{plural(found.left, 'older webhook')} were not tried; saving replays them too.</p>}
        </>
      )}
      {lacks && !tried.error && <p>{lacks}</p>}
    </div>
  );
}
