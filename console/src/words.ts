/** Times, numbers and names as people read them. */
import { CAMPAIGN, CRM } from './tool-names';

const LOCALE = 'en-GB';
const DAY = 86_400_000;
const numbers = new Intl.NumberFormat(LOCALE);
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const dayMonth = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'short' });
const dayMonthYear = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'short', year: 'numeric' });
const clock = new Intl.DateTimeFormat(LOCALE, { hour: '2-digit', minute: '2-digit' });
const weekday = new Intl.DateTimeFormat(LOCALE, { weekday: 'short' });
const whole = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'full', timeStyle: 'long' });

export function count(value: number): string {
  return numbers.format(value);
}

/** A number of the API that goes up to 999. */
export function atMost(value: number): string {
  return value >= 999 ? '999+' : count(value);
}

export function percent(share: number | null): string {
  return share === null ? '–' : `${(share * 100).toFixed(1)} %`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** The day, without the year if it is this one. */
export function day(at: Date): string {
  return at.getFullYear() === new Date().getFullYear() ? dayMonth.format(at) : dayMonthYear.format(at);
}

/** Day and clock: the clock alone today, the weekday within a week, else the date. */
export function shortTime(text: string): string {
  const at = new Date(text);
  const now = new Date();
  if (at.toDateString() === now.toDateString()) return clock.format(at);
  const isRecent = at < now && now.getTime() - at.getTime() < 6 * DAY;
  return `${isRecent ? weekday.format(at) : day(at)} ${clock.format(at)}`;
}

export function longTime(text: string): string {
  const at = new Date(text);
  return `${dayMonthYear.format(at)}, ${clock.format(at)}`;
}

export function fullTime(text: string): string {
  return whole.format(new Date(text));
}

export function ago(text: string, now = Date.now()): string {
  const seconds = (new Date(text).getTime() - now) / 1000;
  const size = Math.abs(seconds);
  if (size < 45) return 'just now';
  if (size < 3600) return relative.format(Math.round(seconds / 60), 'minute');
  if (size < 86_400) return relative.format(Math.round(seconds / 3600), 'hour');
  return size < 30 * 86_400 ? relative.format(Math.round(seconds / 86_400), 'day') : shortTime(text);
}

export function span(milliseconds: number): string {
  if (milliseconds >= 2 * DAY) return plural(Math.round(milliseconds / DAY), 'day');
  if (milliseconds >= 3_600_000) return plural(Math.round(milliseconds / 3_600_000), 'hour');
  return plural(Math.max(1, Math.round(milliseconds / 60_000)), 'minute');
}

export function bytes(size: number): string {
  return size < 1000 ? `${size} B` : size < 1_000_000 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A name of the API as words: `last_reply_received` is "Last reply received". */
export function words(name: string): string {
  return capital(name.replace(/[._]/g, ' ').replace(/\blinkedin\b/g, 'LinkedIn').replace(/\bcrm\b/g, 'CRM').replace(/\bunrecognised\b/g, 'not recognised'));
}

const TOOLS: Record<string, string> = { __proto__: null as never, ...CRM, ...CAMPAIGN, api: 'API', generic: 'Another tool' };

export function toolName(tool: string | null): string {
  return tool === null ? 'Unknown tool' : (TOOLS[tool] ?? words(tool));
}

export function personName(of: { first_name: string; last_name: string; email?: string; id: number }): string {
  return `${of.first_name} ${of.last_name}`.trim() || of.email || `Contact ${of.id}`;
}
