/** The sums of a report, beside those of the period before. */
import { count, percent } from '../words';
import type { Schemas } from '../types';

export type Row = Schemas['CampaignRow'];
export type Report = Schemas['CampaignReport'];
type Counted = 'mailed' | 'mailed_replied' | 'replied' | 'bounced' | 'unsubscribed';

/** A number of the period before. */
export function Before({ value }: { value: string | undefined }) {
  return value === undefined ? null : <span class="faint before" title="The period before">({value})</span>;
}

/** The sums; nothing yet where there are no rows yet. */
export function Figures({ rows, before }: { rows: readonly Row[] | undefined; before?: readonly Row[] | undefined }) {
  const sum = (of: readonly Row[] | undefined, key: Counted) => (of ?? []).reduce((all, each) => all + each[key], 0);
  const rate = (of: readonly Row[] | undefined) => percent(sum(of, 'mailed') ? sum(of, 'mailed_replied') / sum(of, 'mailed') : null);
  const figures: readonly (readonly [string, Counted, string])[] = [
    ['Emailed', 'mailed', 'people'],
    ['Replied', 'replied', 'people'],
    ['Reply rate', 'mailed_replied', `${count(sum(rows, 'mailed_replied'))} of the people emailed`],
    ['Bounced', 'bounced', 'hard bounces'],
    ['Unsubscribed', 'unsubscribed', 'people'],
  ];
  const shown = (of: readonly Row[] | undefined, key: Counted) => (key === 'mailed_replied' ? rate(of) : count(sum(of, key)));
  return (
    <dl class="figures" aria-busy={rows ? undefined : true}>
      {figures.map(([name, key, of]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <b>{rows ? shown(rows, key) : '\u00a0'}</b> <span class="faint">{of}</span>
            {before && rows && <span class="faint before">{shown(before, key)} in the period before</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
