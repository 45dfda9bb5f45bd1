/** Jobs in words. */
import type { Group, Hue } from '../ui/status';
import { count, words } from '../words';
import { ENDED, type Job } from './types';
import type { Many } from './targets';

const KINDS: Record<string, string> = {
  'contacts.import': 'Import of contacts', 'companies.import': 'Import of companies', 'contacts.export': 'Export of contacts', 'companies.export': 'Export of companies',
  'connections.load': 'Load of history', 'changes.revert': 'Revert of a change', 'connections.mapping': 'Mapping of webhooks',
};
const STATES: Record<string, string> = { uploading: 'Uploading', preview: 'Not started', queued: 'Queued', running: 'Running', succeeded: 'Done', failed: 'Failed', cancelled: 'Cancelled' };
const LOOKS: Record<string, readonly [Hue, Group]> = {
  preview: ['amber', 'new'], uploading: ['blue', 'active'], queued: ['blue', 'new'], running: ['blue', 'active'], succeeded: ['green', 'won'], failed: ['red', 'lost'],
};

export function jobName(kind: string): string {
  return KINDS[kind] ?? words(kind);
}

/** What a job is listed as: an import by the name of its file. */
export function jobTitle(job: Job): string {
  return job.settings.file_name || `${jobName(job.kind)} ${job.id}`;
}

export function stateName(job: Job): string {
  if (job.state === 'succeeded' && job.settings.dry_run) return 'Test run';
  return STATES[job.state] ?? job.state;
}

export function lookOfJob(state: string): readonly [Hue, Group] {
  return LOOKS[state] ?? ['grey', 'lost'];
}

export function manyOf(job: Job): Many {
  return job.kind.startsWith('companies') ? 'companies' : 'contacts';
}

/** Whether the server is at it, or about to be. */
export function waits(job: Job): boolean {
  return !ENDED.includes(job.state) && job.state !== 'preview';
}

export function isImport(job: Job): boolean {
  return job.kind.endsWith('.import');
}

/** A count of the progress; null if it has none. */
export function counted(job: Job, name: string): number | null {
  const found = job.progress[name];
  return typeof found === 'number' ? found : null;
}

/** The most important counts as one line. */
export function summary(job: Job): string {
  const parts = ([['created', 'created'], ['updated', 'updated'], ['unchanged', 'unchanged'], ['invalid', 'refused']] as const).map(([name, said]) => [counted(job, name), said] as const);
  const found = parts.filter(([value]) => value !== null && value > 0).map(([value, said]) => `${count(value ?? 0)} ${said}`);
  if (found.length) return found.join(', ');
  const rows = counted(job, 'rows') ?? counted(job, 'records');
  return rows === null ? '' : `${count(rows)} ${counted(job, 'rows') === null ? 'records' : 'rows'}`;
}

/** The counts of an import, each with the list of a report. The first ones are of whole rows and add up to those of the file. */
export const LISTS: readonly { name: string; title: string; ofRows: boolean }[] = [
  { name: 'created', title: 'Created', ofRows: true },
  { name: 'updated', title: 'Changed', ofRows: true },
  { name: 'unchanged', title: 'Unchanged', ofRows: true },
  { name: 'duplicate_in_file', title: 'Repeated', ofRows: true },
  { name: 'invalid', title: 'Refused', ofRows: true },
  { name: 'erased', title: 'Erased persons', ofRows: true },
  { name: 'not_a_row', title: 'Not a row', ofRows: true },
  { name: 'cells_left_out', title: 'Cells left out', ofRows: false },
  { name: 'opt_outs_taken', title: 'Opt-outs taken', ofRows: false },
  { name: 'kept_opt_outs', title: 'Opt-outs kept', ofRows: false },
  { name: 'joined', title: 'Joined', ofRows: false },
  { name: 'suppressed', title: 'Do not contact', ofRows: false },
];

const MEANINGS: Record<string, string> = {
  created: 'new', updated: 'had other values', unchanged: 'had these values', duplicate_in_file: 'the same RECORD as an earlier row', invalid: 'without an identity, or with faults',
  erased: 'not imported', not_a_row: 'blank lines, repeated headers, lines below the table', cells_left_out: 'of rows that are imported', opt_outs_taken: 'now on the do-not-contact list',
  kept_opt_outs: 'a status of the file lifts none', joined: 'two contacts made one', suppressed: 'on a list, and marked',
};

/** What a count is about, in a few words. */
export function meaning(name: string, record: 'contact' | 'company'): string {
  return (MEANINGS[name] ?? '').replace('RECORD', record);
}

/** What a count of a preview counts: "cells left out". */
export function listName(name: string, record: 'contact' | 'company', total: number): string {
  const names: Record<string, string> = { invalid: 'refused', not_a_row: 'not a row', duplicate_in_file: `the same ${record} as an earlier row`, cells_left_out: total === 1 ? 'cell left out' : 'cells left out' };
  return names[name] ?? name;
}
