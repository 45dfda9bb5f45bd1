/** Mails and replies by day: two small charts with one axis of time. */
import { useState } from 'preact/hooks';
import { count, day, plural } from '../words';

export interface Day {
  begins_at: string;
  mailed: number;
  replied: number;
  bounced: number;
}

const WIDTH = 720;
const DAY = 86_400_000;

interface Bar {
  at: number;
  value: number;
}

export function Days({ days, since }: { days: readonly Day[]; since: string }) {
  const length = Number.parseInt(since, 10);
  const today = new Date();
  today.setHours(0, 0, 0, 0);
  const first = today.getTime() - (length - 1) * DAY;
  const filled = (key: 'mailed' | 'replied'): Bar[] => {
    const by = new Map(days.map((each) => [Math.round((new Date(each.begins_at).getTime() - first) / DAY), each[key]]));
    return Array.from({ length }, (_, n) => ({ at: first + n * DAY, value: by.get(n) ?? 0 }));
  };
  return (
    <section class="days" aria-label="By day">
      <Chart name="People emailed" one="person emailed" many="people emailed" hue="blue" bars={filled('mailed')} />
      <Chart name="People who replied" one="person replied" many="people replied" hue="green" bars={filled('replied')} />
    </section>
  );
}

function Chart({ name, one, many, hue, bars }: { name: string; one: string; many: string; hue: string; bars: readonly Bar[] }) {
  const [at, setAt] = useState<number | null>(null);
  const most = Math.max(1, ...bars.map((each) => each.value));
  const step = WIDTH / bars.length;
  const chosen = at === null ? null : bars[at];
  const height = 72;
  const sum = bars.reduce((all, each) => all + each.value, 0);
  return (
    <figure class={`chart hue-${hue}`}>
      <figcaption>
        <h2>{name}</h2>
        <span class="faint">{chosen ? `${day(new Date(chosen.at))}: ${plural(chosen.value, one, many)}` : sum ? `peak ${count(most)}` : 'none'}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name}: ${count(sum)} in ${bars.length} days, peak ${count(most)}`}
        onMouseMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          setAt(Math.max(0, Math.min(bars.length - 1, Math.floor(((event.clientX - box.left) / box.width) * bars.length))));
        }}
        onMouseLeave={() => setAt(null)}
      >
        {bars.map((each, n) => {
          const size = each.value ? Math.max(2, (each.value / most) * (height - 2)) : 1;
          return <rect key={each.at} class={`${each.value ? '' : 'zero'} ${n === at ? 'at' : ''}`} x={n * step + step * 0.12} width={step * 0.76} y={height - size} height={size} rx={Math.min(2, step / 6)} />;
        })}
      </svg>
      <div class="ends">
        <span>{bars[0] && day(new Date(bars[0].at))}</span>
        <span>today</span>
      </div>
    </figure>
  );
}
