/** Contacts by status over time: a column of parts for each day or week. */
import { useState } from 'preact/hooks';
import { useGet } from '../data';
import { ProblemNote } from '../ui/basic';
import { hueOf } from '../ui/status';
import { count, day, words } from '../words';

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
const OTHERS = 'others';

/** The columns, each with the same statuses in the same order; what is rare is one part. */
function columnsOf(rows: readonly Row[]): Column[] {
  const last = rows.at(-1)?.begins_at;
  const named = (each: Row) => each.status || 'no status';
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

export function OverTime({ since }: { since: string }) {
  const query = { since, interval: since === '90d' ? 'week' : 'day', time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone };
  const loaded = useGet<{ data: Row[] }>('/public/v2/reports/contacts/statuses', query);
  const [at, setAt] = useState<number | null>(null);
  const columns = columnsOf(loaded.data?.data ?? []);
  const most = Math.max(1, ...columns.map((each) => each.all));
  const step = WIDTH / Math.max(1, columns.length);
  const column = columns[at ?? columns.length - 1];
  const shades = shadesOf(columns[0]?.parts ?? []);
  const said = column ? column.parts.filter((each) => each.records).map((each) => `${words(each.status)} ${count(each.records)}`).join(' · ') : '\u00a0';
  return (
    <figure class="chart over-time">
      <figcaption>
        <h2>Contacts by status over time</h2>
        <span class="faint">{column ? `${at === null ? 'now' : day(new Date(column.at))}: ${count(column.all)} contacts` : '\u00a0'}</span>
      </figcaption>
      {loaded.error && <ProblemNote problem={loaded.error} retry={() => void loaded.refetch()} />}
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Contacts by status over time, now: ${said}`}
        onMouseMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          setAt(Math.max(0, Math.min(columns.length - 1, Math.floor(((event.clientX - box.left) / box.width) * columns.length))));
        }}
        onMouseLeave={() => setAt(null)}
      >
        {columns.map((each, n) => {
          let below = HEIGHT;
          return each.parts.map(({ status, records }) => {
            const size = (records / most) * HEIGHT;
            below -= size;
            return <rect key={`${each.at} ${status}`} class={`hue-${hueOf(status)}`} x={n * step + step * 0.08} width={step * 0.84} y={below} height={size} style={{ opacity: shades.get(status) }} />;
          });
        })}
      </svg>
      <div class="ends">
        <span>{columns[0] ? day(new Date(columns[0].at)) : '\u00a0'}</span>
        <span>today</span>
      </div>
      <p class="faint said">{said}</p>
    </figure>
  );
}
