/** Jobs in words. */
import type { Group, Hue } from '../ui/status';
import { count, words } from '../words';
import { ENDED, type Job } from './types';
import type { Many } from './targets';

const KINDS: Record<string, string> = {
  'contacts.import': 'Import of contacts', 'companies.import': 'Import of companies', 'contacts.export': 'Export of contacts', 'companies.export': 'Export of companies',
  'connections.load': 'Load of history',
};
const STATES: Record<string, string> = { uploading: 'Uploading', preview: 'Not started', queued: 'Queued', running: 'Running', succeeded: 'Done', failed: 'Failed', cancelled: 'Cancelled' };
const LOOKS: Record<string, readonly [Hue, Group]> = {
  preview: ['amber', 'new'], uploading: ['blue', 'active'], queued: ['blue', 'new'], running: ['blue', 'active'], succeeded: ['green', 'won'], failed: ['red', 'lost'],
};

export function jobName(kind: string): string {
  return KINDS[kind] ?? words(kind);
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
