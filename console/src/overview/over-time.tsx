/** Contacts by status over time: a column of parts for each day, above the axis of the other charts. */
import { useGet } from '../data';
import { go, href } from '../route';
import { LoadProblem } from '../ui/basic';
import { lookOf } from '../ui/status';
import { count, day, words } from '../words';
import { Hatch, Plot, pointed } from './days';
import { midnight, type Period } from './period';

interface Row {
  begins_at: string;
  ends_at: string;
  status: string | null;
  records: number;
}

interface Part {
  status: string;
  records: number;
}

interface Column {
  at: string;
  all: number;
  parts: Part[];
}

const WIDTH = 720;
const HEIGHT = 120;
const SHOWN = 7;
const NONE = 'no status';
const OTHERS = 'others';
const hueOf = (status: string) => (status === NONE || status === OTHERS ? 'grey' : lookOf(status)[0]);
/** The filter of the contacts that have a status now; null: of several. */
const listOf = (status: string) => (status === OTHERS ? null : status === NONE ? { 'contact_status[is_set]': 'false' } : { 'contact_status[in]': status });

/** The columns, each with the same statuses in the same order; what is rare is one part. */
function columnsOf(rows: readonly Row[]): Column[] {
  const last = rows.at(-1)?.begins_at;
  const named = (each: Row) => each.status || NONE;
  const now = rows.filter((each) => each.begins_at === last).sort((a, b) => b.records - a.records);
  const shown = now.slice(0, SHOWN).map(named);
  const by = new Map<string, Map<string, number>>();
  for (const each of rows) {
    const column = by.get(each.begins_at) ?? new Map<string, number>();
    const name = shown.includes(named(each)) ? named(each) : OTHERS;
    column.set(name, (column.get(name) ?? 0) + each.records);
    by.set(each.begins_at, column);
  }
  return [...by].map(([at, column]) => {
    const parts = [...shown, OTHERS].map((status) => ({ status, records: column.get(status) ?? 0 }));
    return { at, parts, all: parts.reduce((sum, each) => sum + each.records, 0) };
  });
}

/** Statuses may share a hue: the second of a hue is lighter. */
function shadesOf(parts: readonly Part[]): Map<string, number> {
  const seen = new Map<string, number>();
  return new Map(
    parts.map(({ status }) => {
      const hue = hueOf(status);
      const times = seen.get(hue) ?? 0;
      seen.set(hue, times + 1);
      return [status, [0.9, 0.55, 0.3][Math.min(times, 2)] ?? 0.3];
    }),
  );
}

export function OverTime({ period }: { period: Period }) {
  const { since = '', time_zone = '' } = period.query;
  const loaded = useGet<{ data: Row[] }>('/public/v2/reports/contacts/statuses', { since, time_zone, interval: 'day' }, { enabled: period.days > 1 });
  const at = pointed.value;
  const columns = columnsOf(loaded.data?.data ?? []);
  const most = Math.max(1, ...columns.map((each) => each.all));
  const step = WIDTH / period.days;
  const column = columns[at ?? columns.length - 1];
  const shades = shadesOf(columns[0]?.parts ?? []);
  const said = column ? column.parts.filter((each) => each.records).map((each) => `${words(each.status)} ${count(each.records)}`).join(' · ') : '\u00a0';
  if (period.days < 2) return null;
  return (
    <figure class="chart over-time">
      <figcaption>
        <h2>Contacts by status over time</h2>
        <span class="faint">{column ? `${at === null ? 'now' : day(new Date(column.at))}: ${count(column.all)} contacts` : '\u00a0'}</span>
      </figcaption>
      <LoadProblem of={loaded} />
      <Plot name="Contacts by status" days={period.days} height={HEIGHT} first={period.first} said={() => said}>
        {[...new Set(column?.parts.map(({ status }) => hueOf(status)))].map((hue) => <Hatch key={hue} id={`now-${hue}`} hue={hue} />)}
        {columns.map((each, n) => {
          let below = HEIGHT;
          const isToday = Date.parse(each.at) === midnight(Date.now());
          return each.parts.map(({ status, records }) => {
            const size = (records / most) * HEIGHT;
            below -= size;
            const hue = hueOf(status);
            const list = isToday ? listOf(status) : null;
            return (
              <rect key={`${each.at} ${status}`} class={`hue-${hue} ${list ? 'opens' : ''}`} x={n * step + step * 0.08} width={step * 0.84} y={below} height={size} style={{ opacity: shades.get(status), ...(isToday && { fill: `url(#now-${hue})` }) }} onClick={() => list && go('/contacts', list)} />
            );
          });
        })}
      </Plot>
      <p class="legend">
        {column?.parts.filter(({ records }) => records).map(({ status, records }) => {
          const list = listOf(status);
          const key = <span class={`key hue-${hueOf(status)}`} style={{ '--shade': shades.get(status) }}>{`${words(status)} ${count(records)}`}</span>;
          return list ? <a key={status} href={href('/contacts', list)}>{key}</a> : key;
        })}
      </p>
    </figure>
  );
}
