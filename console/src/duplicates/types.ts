/** What the API answers about duplicates and merges. */
import type { AnyRecord } from '../kinds/kind';

export interface MergedField {
  field: string;
  value: string | number | null;
  from_id: number;
  before: string | number | null;
  custom: boolean;
}

export interface Merge {
  merge_id: number | null;
  undo_until: string | null;
  fields: MergedField[];
}

/** A pair as the API has it: its records are a member with the name of their kind. */
export type FoundPair<R> = { score: number; reasons: string[]; client_id?: string } & Partial<Record<'contacts' | 'companies', R[]>>;

export interface Pair<R extends AnyRecord> {
  score: number;
  reasons: string[];
  one: R;
  other: R;
  /** Their client, where all are shown. */
  of: string | undefined;
}

export const REASONS: Record<string, string> = {
  same_name: 'same name', similar_name: 'similar name', same_domain: 'same domain', similar_address: 'similar address', same_company: 'same company',
  other_linkedin: 'two LinkedIn profiles', named_together: 'named together by a webhook',
};
