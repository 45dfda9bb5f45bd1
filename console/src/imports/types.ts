/** What the API answers about jobs and imports. */

export interface Mapping {
  columns: Record<string, string>;
  others: 'custom' | 'ignore';
  day_order: '' | 'day_first' | 'month_first';
  time_zone: string;
  without_key: boolean;
}

export interface Preview {
  format: string;
  header: string[];
  rows: string[][];
  mapping: Mapping;
  /** The tool whose export it looks like; empty: unknown. */
  source: string;
  encoding: string;
  delimiter: string;
  sheet: string;
  sheets: string[];
}

export type Mode = 'upsert' | 'create' | 'update';

export interface Settings {
  mapping?: Mapping & { record?: string };
  mode?: Mode;
  match?: string;
  dry_run?: boolean;
}

export interface Job {
  id: number;
  kind: string;
  state: string;
  created_at: string;
  updated_at: string;
  started_at: string | null;
  finished_at: string | null;
  settings: Settings;
  progress: Record<string, unknown>;
  error: string | null;
  files: { result?: string; bad_rows?: string };
  files_until: string | null;
  preview?: Preview;
}

export interface StoredMapping {
  name: string;
  mapping: Mapping;
}

export const ENDED = ['succeeded', 'failed', 'cancelled'];
