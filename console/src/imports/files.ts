/** Files that were chosen in this page, so that a dry run can be followed by the import without choosing again. */
import { upload } from '../api';
import { go } from '../route';
import type { Job, Settings } from './types';
import type { Many } from './targets';

const chosen = new Map<number, File>();

export function fileOf(job: number): File | undefined {
  return chosen.get(job);
}

/** Upload a file; its job shows what it looks like. */
export async function send(many: Many, file: File, sent: (share: number) => void, stop: AbortSignal): Promise<Job> {
  const job = await upload<Job>(`/public/v2/${many}/imports`, { file_name: file.name }, file, sent, stop);
  chosen.set(job.id, file);
  return job;
}

/** Upload a file again and import it at once, with what a dry run has tried. */
export async function sendAgain(many: Many, file: File, { mapping, mode, match, delimiter, encoding, sheet, header_row }: Settings, sent: (share: number) => void): Promise<void> {
  const { record: _, ...plain } = { record: '', ...mapping };
  const query = { start: 'true', file_name: file.name, mapping: JSON.stringify(plain), mode: mode ?? 'upsert', ...(match && { match }), ...(delimiter && { delimiter }), ...(encoding && { encoding }), ...(sheet && { sheet }), ...(header_row && { header_row: String(header_row) }) };
  const job = await upload<Job>(`/public/v2/${many}/imports`, query, file, sent, new AbortController().signal);
  go(`/imports/${job.id}`);
}
