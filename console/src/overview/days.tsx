/** Charts by day: each a row of bars above one axis of time; a day is pointed at in all of them. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { count, day, plural } from '../words';
import type { Row } from './figures';
import { DAY, midnight, type Period } from './period';

const WIDTH = 720;
const HEIGHT = 72;
/** The day that is pointed at, in all charts of the screen: its number from the first. */
export const pointed = signal<number | null>(null);

interface Bar {
  at: number;
  value: number;
  before: number | null;
}

interface DaysProps {
  rows: readonly Row[];
  before: readonly Row[] | undefined;
  period: Period;
  /** Show the list that a bar counts. */
  link?: ((people: 'mailed' | 'replied', at: number) => void) | undefined;
}

export function Days({ rows, before, period, link }: DaysProps) {
  if (period.days < 2) return null;
  const bars = (key: 'mailed' | 'replied'): Bar[] => {
    const now = sums(rows, key, period.first);
    const then = sums(before ?? [], key, midnight(period.first, -period.days));
    return Array.from({ length: period.days }, (_, n) => ({ at: midnight(period.first, n), value: now.get(n) ?? 0, before: before ? (then.get(n) ?? 0) : null }));
  };
  return (
    <section class="days" aria-label="By day">
      <Chart name="People emailed" one="person emailed" many="people emailed" hue="blue" bars={bars('mailed')} link={link && ((at) => link('mailed', at))} />
      <Chart name="People who replied" one="person replied" many="people replied" hue="green" bars={bars('replied')} link={link && ((at) => link('replied', at))} />
      <Axis first={period.first} days={period.days} />
      <p class="legend faint">
        <span class="key solid">a day</span>
        <span class="key hatched">today, until now</span>
        <span class="key weekend">weekend</span>
        {before && <span class="key line">the period before</span>}
      </p>
    </section>
  );
}

/** Sums by the number of the day; several rows, as of all clients, may be of one day. */
function sums(rows: readonly Row[], key: 'mailed' | 'replied', first: number): Map<number, number> {
  const by = new Map<number, number>();
  for (const each of rows) {
    const number = Math.round((Date.parse(each.begins_at) - first) / DAY);
    by.set(number, (by.get(number) ?? 0) + each[key]);
  }
  return by;
}

interface ChartProps {
  name: string;
  one: string;
  many: string;
  hue: string;
  bars: readonly Bar[];
  link?: ((at: number) => void) | undefined;
}

function Chart({ name, one, many, hue, bars, link }: ChartProps) {
  const most = Math.max(1, ...bars.map((each) => Math.max(each.value, each.before ?? 0)));
  const at = pointed.value;
  const chosen = at === null ? undefined : bars[at];
  const said = (bar: Bar) => `${day(new Date(bar.at))}: ${plural(bar.value, one, many)}${bar.before === null ? '' : `, ${count(bar.before)} in the period before`}`;
  const sum = bars.reduce((all, each) => all + each.value, 0);
  const step = WIDTH / bars.length;
  const high = (value: number) => (value ? Math.max(2, (value / most) * (HEIGHT - 2)) : 1);
  return (
    <figure class={`chart hue-${hue}`}>
      <figcaption>
        <h2>{name}</h2>
        <span class="faint">{chosen ? said(chosen) : sum ? `peak ${count(Math.max(...bars.map((each) => each.value)))}` : 'none'}</span>
      </figcaption>
      <Plot name={name} days={bars.length} height={HEIGHT} first={bars[0]?.at ?? 0} said={(n) => (bars[n] ? said(bars[n]) : '')} open={link && ((n) => bars[n] && link(bars[n].at))}>
        <Hatch id={`today-${hue}`} />
        {bars.map((each, n) => {
          const isToday = each.at === midnight(Date.now());
          return <rect key={each.at} class={`bar ${each.value ? '' : 'zero'} ${n === at ? 'at' : ''}`} style={isToday && each.value ? { fill: `url(#today-${hue})` } : undefined} x={n * step + step * 0.12} width={step * 0.76} y={HEIGHT - high(each.value)} height={high(each.value)} rx={Math.min(2, step / 6)} />;
        })}
        {bars.some((each) => each.before !== null) && <polyline class="before" points={bars.map((each, n) => `${(n + 0.5) * step},${HEIGHT - high(each.before ?? 0)}`).join(' ')} />}
      </Plot>
    </figure>
  );
}

/** What fills the bar of today, which is not over. */
export function Hatch({ id, hue }: { id: string; hue?: string }) {
  return (
    <pattern id={id} class={hue && `hue-${hue}`} width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect class="stripe" width="2" height="4" />
    </pattern>
  );
}

interface PlotProps {
  name: string;
  days: number;
  height: number;
  first: number;
  said: (n: number) => string;
  open?: ((n: number) => void) | undefined;
  children: ComponentChildren;
}

/** The ground of a chart: weekends, the day that is pointed at by mouse or arrows, and the way to its list. */
export function Plot({ name, days, height, first, said, open, children }: PlotProps) {
  const at = pointed.value;
  const step = WIDTH / days;
  const under = (event: MouseEvent & { currentTarget: Element }) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(days - 1, Math.floor(((event.clientX - box.left) / box.width) * days)));
  };
  function move(event: KeyboardEvent) {
    const to: Record<string, number> = { ArrowLeft: (at ?? days) - 1, ArrowRight: (at ?? -1) + 1, ArrowDown: (at ?? days) - 1, ArrowUp: (at ?? -1) + 1, PageUp: (at ?? days) - 7, PageDown: (at ?? -1) + 7, Home: 0, End: days - 1 };
    const next = to[event.key];
    if (next !== undefined) pointed.value = Math.max(0, Math.min(days - 1, next));
    else if (event.key === 'Enter' && at !== null) open?.(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${height}`}
      preserveAspectRatio="none"
      role="slider"
      tabIndex={0}
      class={open && 'opens'}
      aria-label={open ? `${name} by day; Enter lists them` : `${name} by day`}
      aria-valuemin={1}
      aria-valuemax={days}
      aria-valuenow={(at ?? days - 1) + 1}
      aria-valuetext={said(at ?? days - 1)}
      onKeyDown={move}
      onBlur={() => (pointed.value = null)}
      onMouseMove={(event) => (pointed.value = under(event))}
      onMouseLeave={() => (pointed.value = null)}
      onClick={(event) => open?.(under(event))}
    >
      {Array.from({ length: days }, (_, n) => ([0, 6].includes(new Date(midnight(first, n)).getDay()) ? <rect key={`weekend ${n}`} class="weekend" x={n * step} width={step} y={0} height={height} /> : null))}
      {children}
    </svg>
  );
}

/** The axis that all charts above it have. */
export function Axis({ first, days }: { first: number; days: number }) {
  const marks = days <= 7 ? Array.from({ length: days }, (_, n) => n) : Array.from({ length: 5 }, (_, n) => Math.round((n * (days - 1)) / 4));
  return (
    <div class={days <= 7 ? 'ends few' : 'ends'}>
      {marks.map((n) => (
        <span key={n}>{n === days - 1 ? 'today' : day(new Date(midnight(first, n)))}</span>
      ))}
    </div>
  );
}
