/** What the grid and the page of a record need to know about a kind of record. */
import type { ComponentChildren } from 'preact';
import type { IconName } from '../ui/basic';
import { capital } from '../words';

export type Value = string | number | boolean | null;

/** What all kinds of record have. */
export interface AnyRecord {
  id: number;
  updated_time: string;
  previous_status: string | null;
  status_changed_at: string | null;
  external_id?: string;
  owner_id?: string;
}

export interface Column<R> {
  key: string;
  name: string;
  width: number;
  /** The name to sort by; none: the API does not sort by it. */
  sort?: string;
  /** Whether the first click sorts the latest, or the largest, first. */
  down?: boolean;
  /** Aligned to the right: numbers. */
  number?: boolean;
  /** False: it shows members of other names. */
  isMember?: boolean;
  /** The field and the value to filter by, if they are not the column's. */
  filter?: (of: R) => readonly [string, string];
  show: (of: R) => ComponentChildren;
}

export interface UsualView {
  name: string;
  query: Readonly<Record<string, string>>;
}

export interface Kind<R extends AnyRecord> {
  one: 'contact' | 'company';
  many: 'contacts' | 'companies';
  title: string;
  icon: IconName;
  /** The screen and, below `/public/v2`, the resource. */
  path: string;
  api: string;
  /** The member with the status. */
  status: 'contact_status' | 'company_status';
  statusOf: (of: R) => string | undefined;
  customOf: (of: R) => Readonly<Record<string, Value>>;
  nameOf: (of: R) => string;
  /** In a narrow list: below the name, and the time at the end. */
  below: (of: R) => string;
  when: (of: R) => string | null;
  /** What would be put on the do-not-contact list. */
  listed: (of: R) => { kind: 'email' | 'domain'; value: string } | null;
  /** How that is called, for one and for many. */
  listedAs: readonly [string, string];
  /** The first column is the name, which is always shown. */
  columns: readonly [Column<R>, ...Column<R>[]];
  usual: readonly string[];
  /** Members that each row of a list has, whatever its columns are. */
  inLists: readonly string[];
  /** Names of filters: times, and texts. */
  times: readonly string[];
  texts: readonly string[];
  views: readonly UsualView[];
  searches: string;
  /** Load what the rows refer to. */
  prepare: (rows: readonly R[], client?: string) => Promise<void>;
  /** Members on the record's page, in order; which of them a person may change; what is shown of a value that is no text. */
  members: readonly string[];
  editable: readonly string[];
  /** Members that are shown without a value too. */
  always: readonly string[];
  show: (of: R, member: string, value: string) => ComponentChildren;
  /** The list's query for records that may be the same one. */
  twins: (of: R) => Readonly<Record<string, string>> | null;
}

const NAMES: Readonly<Record<string, string>> = {
  __proto__: null as never,
  email: 'Email', linkedin_url: 'LinkedIn', external_id: 'External id', owner_id: 'Owner', occurred_at: 'Time', company_id: 'Company', first_campaign_email_sent: 'First emailed',
  last_campaign_email_sent: 'Last emailed', last_reply_received: 'Last reply', contact_status: 'Status', company_status: 'Status', updated_time: 'Changed',
  status_changed_at: 'Status since',
};

/** The name of a member or a filter for people. */
export function memberName(key: string): string {
  const bare = key.replace(/\[\w+\]$/, '');
  if (bare.startsWith('cf.')) return bare.slice(3);
  return NAMES[bare] ?? capital(bare.replace(/[._]/g, ' '));
}

/** The value of a member as text; empty if there is none. */
export function valueOf<R extends AnyRecord>(kind: Kind<R>, of: R, member: string): string {
  if (member.startsWith('cf.')) return String(kind.customOf(of)[member.slice(3)] ?? '');
  const found: unknown = of[member as keyof R];
  return found === undefined || found === null ? '' : String(found);
}
