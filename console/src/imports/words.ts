/** Jobs in words. */
import { count, words } from '../words';
import type { Job } from './types';
import type { Many } from './targets';

const KINDS: Record<string, string> = {
  'contacts.import': 'Import of contacts', 'companies.import': 'Import of companies', 'contacts.export': 'Export of contacts', 'companies.export': 'Export of companies',
};
const STATES: Record<string, string> = { uploading: 'being uploaded', preview: 'not started', queued: 'waits', running: 'running', succeeded: 'done', failed: 'failed', cancelled: 'cancelled' };
const HUES: Record<string, string> = { preview: 'warn', uploading: 'calm', queued: 'calm', running: 'calm', succeeded: 'good', failed: 'bad', cancelled: 'none' };

export function jobName(kind: string): string {
  return KINDS[kind] ?? words(kind);
}

export function stateName(job: Job): string {
  if (job.state === 'succeeded' && job.settings.dry_run) return 'only tried';
  return STATES[job.state] ?? job.state;
}

export function stateHue(state: string): string {
  return HUES[state] ?? 'none';
}

export function manyOf(job: Job): Many {
  return job.kind.startsWith('companies') ? 'companies' : 'contacts';
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
