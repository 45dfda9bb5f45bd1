/** The period of a report: whole days until now, chosen in the address, and whether it stands beside the period before. */
import { go, place } from '../route';
import { day } from '../words';

export const DAY = 86_400_000;
const USUAL = '30d';
const PERIODS = [
  ['today', 'Today', 1],
  ['7d', '7 days', 7],
  ['30d', '30 days', 30],
  ['90d', '90 days', 90],
] as const;

export interface Period {
  /** Its word in the address; empty: of a chosen day. */
  key: string;
  days: number;
  /** The first midnight, in milliseconds. */
  first: number;
  /** The query of a report. */
  query: Record<string, string>;
  isCompared: boolean;
}

export function iso(at: number): string {
  return new Date(at).toISOString().replace('.000', '');
}

/** The midnight so many days after another one, also where summer time begins or ends between them. */
export function midnight(at: number, days = 0): number {
  const date = new Date(at);
  date.setHours(0, 0, 0, 0);
  date.setDate(date.getDate() + days);
  return date.getTime();
}

/** The period that the address names. */
export function periodOf(): Period {
  const { query } = place.value;
  const isCompared = query.get('compare') === 'previous';
  const chosen = Date.parse(query.get('day') ?? '');
  const [key, , days] = PERIODS.find(([word]) => word === (query.get('since') ?? USUAL)) ?? PERIODS[2];
  const first = Number.isNaN(chosen) ? midnight(Date.now(), 1 - days) : midnight(chosen);
  const asked = { since: iso(first), time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone, ...(isCompared && { compare: 'previous' }) };
  if (Number.isNaN(chosen)) return { key, days, first, isCompared, query: asked };
  return { key: '', days: 1, first, isCompared, query: { ...asked, until: iso(midnight(chosen, 1)) } };
}

/** What an address has of the period, so that links take it along. */
export function periodQuery(query = place.value.query): Record<string, string> {
  return { since: query.get('since') ?? '', day: query.get('day') ?? '', compare: query.get('compare') ?? '' };
}

/** The filter of the contacts that a number of a report counts; `groups`: those of its row, null where it has none. */
export function counted(people: string, begins: string, ends: string, groups: Record<string, string | null> = {}): Record<string, string> {
  const parts = Object.entries(groups).map(([name, value]) => `${name}=${(value ?? '').replace(/%/g, '%25').replace(/;/g, '%3B')}`);
  return { counted: [people, `since=${begins}`, `until=${ends}`, ...parts].join(';') };
}

/** The buttons for the period, and for the comparison. */
export function Periods({ path = '/' }: { path?: string }) {
  const { key, first, isCompared } = periodOf();
  const show = (since: string) => go(path, { ...Object.fromEntries(place.value.query), day: '', since }, true);
  return (
    <>
      {key === '' && <span class="chip">{day(new Date(first))}</span>}
      <div class="switch" role="group" aria-label="Period">
        {PERIODS.map(([word, text]) => (
          <button key={word} type="button" aria-pressed={key === word} onClick={() => show(word === USUAL ? '' : word)}>
            {text}
          </button>
        ))}
      </div>
      <button type="button" class="button" aria-pressed={isCompared} onClick={() => go(path, { ...Object.fromEntries(place.value.query), compare: isCompared ? '' : 'previous' }, true)}>
        Compare
      </button>
    </>
  );
}
