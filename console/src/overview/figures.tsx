/** The period of a report, and its sums. */
import { go, place } from '../route';
import { count, percent } from '../words';
import type { Day } from './days';

export interface Row extends Day {
  tool: string;
  campaign: string | null;
  campaign_id: string | null;
  reply_rate: number | null;
  mailed_replied: number;
  unsubscribed: number;
}

const PERIODS = [
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['90d', '90 days'],
] as const;

/** The chosen period, and the buttons for it. */
export function Periods({ since }: { since: string }) {
  return (
    <div class="switch" role="group" aria-label="Period">
      {PERIODS.map(([key, text]) => (
        <button key={key} type="button" aria-pressed={since === key} onClick={() => go('/', { ...Object.fromEntries(place.value.query), since: key === '30d' ? '' : key }, true)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** The sums; nothing yet where there are no rows yet. */
export function Figures({ rows }: { rows: readonly Row[] | undefined }) {
  const sum = (key: 'mailed' | 'mailed_replied' | 'replied' | 'bounced' | 'unsubscribed') => (rows ?? []).reduce((all, each) => all + each[key], 0);
  const mailed = sum('mailed');
  const figures: readonly (readonly [string, string, string])[] = [
    ['Emailed', count(mailed), 'people'],
    ['Replied', count(sum('replied')), 'people'],
    ['Reply rate', percent(mailed ? sum('mailed_replied') / mailed : null), `${count(sum('mailed_replied'))} of the people emailed`],
    ['Bounced', count(sum('bounced')), 'hard bounces'],
    ['Unsubscribed', count(sum('unsubscribed')), 'people'],
  ];
  return (
    <dl class="figures" aria-busy={rows ? undefined : true}>
      {figures.map(([name, value, of]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <b>{rows ? value : '\u00a0'}</b> <span class="faint">{of}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
