/** What the API answers about statuses, custom fields and the jobs that change them. */

export type Kind = 'contacts' | 'companies';

export interface StatusRow {
  name: string;
  declared: boolean;
  records: number;
  renaming: number;
  stands_for: string[];
  refused: number;
  role: string | null;
  former_names: { name: string }[];
  /** Those that may follow it; null: all of them. */
  next: string[] | null;
  version: string;
}

export interface RenamePreview {
  records: number;
  notes: string[];
}

export interface FieldRow {
  id: string;
  name: string;
  type: string;
  options: string[];
  defined: boolean;
  records: number;
  last_changed: string | null;
  former_names: string[];
  version: string;
}

export interface Job {
  id: number;
  kind: string;
  state: string;
  progress: { percent?: number };
  error: string | null;
}
