/** Times that people type: "thu 9", "in 3 days", "tomorrow 14:30", "2026-12-01 14:00". */

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const MONTHS = ['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november', 'december'];
/** The hour of a day that is named without one. */
const MORNING = 8;
const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^m(?:in(?:ute)?s?)?$/, 60_000],
  [/^h(?:(?:ou)?rs?)?$/, 3_600_000],
  [/^d(?:ays?)?$/, 86_400_000],
  [/^w(?:(?:ee)?ks?)?$/, 604_800_000],
];

function dayAt(from: Date, days: number, [hour, minute]: readonly [number, number]): Date {
  return new Date(from.getFullYear(), from.getMonth(), from.getDate() + days, hour, minute);
}

/** Read a clock: `9`, `9:30`, `9.30`, `2pm`; null if it is none. */
function clockOf(text: string): readonly [number, number] | null {
  const match = /^(?:at )?(\d{1,2})(?:[:.](\d{2}))?\s?(am|pm)?$/.exec(text);
  if (!match) return null;
  const hour = Number(match[1]) % (match[3] ? 12 : 24) + (match[3] === 'pm' ? 12 : 0);
  const minute = Number(match[2] ?? 0);
  return Number(match[1]) > 23 || minute > 59 ? null : [hour, minute];
}

function begins(names: readonly string[], word: string): number {
  return word.length < 3 ? -1 : names.findIndex((name) => name.startsWith(word));
}

/** Return the time that a text means after now; null if it means none. */
export function timeOf(typed: string, now = new Date()): Date | null {
  const text = typed.trim().toLowerCase().replace(/\s+/g, ' ').replace(/^until /, '');
  const span = /^(?:in )?(\d{1,3}) ?([a-z]+)$/.exec(text);
  const unit = span && UNITS.find(([name]) => name.test(span[2] ?? ''))?.[1];
  if (span && unit) {
    const count = Number(span[1]);
    // Days are counted by the calendar: the clock stays over a change of the clocks.
    return count === 0 ? null : unit < 86_400_000 ? new Date(now.getTime() + count * unit) : dayAt(now, (count * unit) / 86_400_000, [now.getHours(), now.getMinutes()]);
  }
  const [head = '', ...tail] = text.replace(/^next /, '').split(' ');
  const clock = tail.length ? clockOf(tail.join(' ')) : ([MORNING, 0] as const);
  const weekday = begins(DAYS, head);
  if (head === 'today' || head === 'tomorrow' || weekday >= 0) {
    if (!clock) return null;
    const days = head === 'today' ? 0 : head === 'tomorrow' ? 1 : (weekday - now.getDay() + 7) % 7;
    const at = dayAt(now, days, clock);
    return at > now ? at : weekday >= 0 ? dayAt(now, days + 7, clock) : null;
  }
  if (text === 'next week') return dayAt(now, (8 - now.getDay()) % 7 || 7, [MORNING, 0]);
  const alone = clockOf(text);
  if (alone) {
    const at = dayAt(now, 0, alone);
    return at > now ? at : dayAt(now, 1, alone);
  }
  const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[t ]+(.+))?$/.exec(text);
  const written = /^(\d{1,2})\.? ([a-z]+)(?: (\d{4}))?(?: (.+))?$/.exec(text);
  const [year, month, day, rest] = iso ? [Number(iso[1]), Number(iso[2]) - 1, Number(iso[3]), iso[4]] : written ? [Number(written[3] ?? now.getFullYear()), begins(MONTHS, written[2] ?? ''), Number(written[1]), written[4]] : [0, -1, 0, undefined];
  const at = rest === undefined ? ([MORNING, 0] as const) : clockOf(rest);
  if (month < 0 || !at) return null;
  const date = new Date(year, month, day, ...at);
  if (date.getMonth() !== month || date.getDate() !== day) return null;
  if (date <= now && written && !written[3]) date.setFullYear(year + 1);
  return date > now ? date : null;
}
