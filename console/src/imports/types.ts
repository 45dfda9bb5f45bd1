/** What the API answers about jobs and imports. */

export interface Mapping {
  columns: Record<string, string>;
  others: 'custom' | 'ignore';
  day_order: '' | 'day_first' | 'month_first';
  time_zone: string;
  without_key: boolean;
  repeated: 'first' | 'last';
  join_statuses: boolean;
  opt_outs: string[] | null;
}

/** What a person chooses for an import; `refused` are columns of opt-outs that are not to be taken. */
export interface Choice extends Omit<Mapping, 'others' | 'opt_outs'> {
  refused: readonly string[];
  mode: Mode;
  match: string;
  save_as: string;
}

/** How a file is read; what is blank is detected. */
export interface Reading {
  delimiter: string;
  encoding: string;
  sheet: string;
  header_row: number;
}

/** Counts of rows, each with its first lines. */
export interface Checked {
  rows: number;
  invalid: number;
  not_a_row: number;
  duplicate_in_file: number;
  cells_left_out: number;
  lines: { row: number; outcome: string; column: string; value: string; reason: string }[];
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
  header_row: number;
  dates: { column: string; examples: string[]; day_first: number; month_first: number; ambiguous: number }[];
  statuses: { status: string; spellings: Record<string, number> }[];
  status_columns: { column: string; values: Record<string, number> }[];
  opt_outs: { column: string; rows: number; values: Record<string, string> }[];
  checked: Checked | null;
}

export type Mode = 'upsert' | 'create' | 'update';

export interface Settings extends Partial<Reading> {
  mapping?: Mapping & { record?: string };
  mode?: Mode;
  match?: string;
  dry_run?: boolean;
  /** The test run whose file an import has, and the import that has the file of a test run. */
  test_id?: number;
  import_id?: number;
  file_name?: string;
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
  files: { result?: string; bad_rows?: string; report?: string };
  files_until: string | null;
  preview?: Preview;
}

export interface StoredMapping {
  name: string;
  mapping: Mapping;
}

export const ENDED = ['succeeded', 'failed', 'cancelled'];
