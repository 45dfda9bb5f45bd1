/** The revert of a change: first counted, then done, with what stays and why. */
import { useEffect, useState } from 'preact/hooks';
import { asProblem, get, lastEdit, post, send, type Problem } from '../api';
import { getOf } from '../clients/requests';
import { save } from '../csv';
import { readAgain, useRead } from '../data';
import { ENDED, type Job } from '../imports/types';
import { counted, jobName } from '../imports/words';
import { client, href, type Query } from '../route';
import { session } from '../session';
import type { Page } from '../types';
import { Button, ProblemNote, Skeleton } from '../ui/basic';
import { Dialog } from '../ui/overlay';
import { toast, toastProblem } from '../ui/toast';
import { count, plural, words } from '../words';
import { reverting, type Change } from './open';

export const CHANGES = '/team/v1/changes';
const EVERY = 400;

const NAMES: Record<string, string> = { bulk: 'Change of many', merge: 'Merge', delete: 'Deletion', block: 'Block', rename: 'Rename', revert: 'Revert', edit: 'Edit', import: 'Import', mapping: 'Mapping of webhooks' };

export function changeName(change: Change): string {
  if (change.renamed) return `${NAMES[change.kind] ?? ''}: ${change.renamed.join(' → ')}`;
  return change.job_kind && change.kind === 'import' ? change.file_name || jobName(change.job_kind) : (NAMES[change.kind] ?? change.kind);
}

/** "9,200 created, 800 updated". */
export function summary(counts: Record<string, number>): string {
  const said: [string, string][] = [
    ['records', 'records'], ['created', 'created'], ['updated', 'changed'], ['changed', 'changed back'], ['deleted', 'to the bin'], ['restored', 'restored'], ['divided', 'divided'], ['unblocked', 'off the do-not-contact list'], ['renamed', 'renamed back'], ['webhooks', 'webhooks read again'], ['applied', 'applied'], ['withdrawn', 'withdrawn from'], ['gone', 'gone'], ['kept', 'stay'],
  ];
  return said.filter(([name]) => counts[name]).map(([name, text]) => (name === 'records' ? plural(counts[name] ?? 0, 'record') : `${count(counts[name] ?? 0)} ${text}`)).join(', ');
}

/** Open the revert of the person's last change that can be reverted: an edit in this tab, or a change of the history but for reverts. */
export async function revertMyLast(): Promise<void> {
  const query: Query = { actor_id: 'me', limit: '10', ...(client.value && { client_id: client.value }) };
  try {
    const { data } = await get<Page<Change>>(CHANGES, query);
    const isOpen = (each: Change) => each.revertible && each.kind !== 'revert' && each.state === 'open';
    const last = data.find(isOpen);
    const edit = await readEdit(last);
    const found = edit && isOpen(edit) ? edit : last;
    if (found) reverting.value = found;
    else toast('You have changed nothing that can be reverted.');
  } catch (error) {
    toastProblem(error);
  }
}

/** Read the last edit of this tab, if it is later than another change. */
async function readEdit(than: Change | undefined): Promise<Change | null> {
  const edit = lastEdit();
  if (!edit || (than && Date.parse(than.at) > edit.at)) return null;
  const of = edit.client || session.value?.client_id || 'default';
  return get<Change>(`${CHANGES}/${encodeURIComponent(of)}/${encodeURIComponent(edit.request)}`).catch(() => null);
}

/** Whether records of a change can be opened here: another client's are not. */
export function isHere(change: Change): boolean {
  return change.client_id === (client.value || session.value?.client_id || 'default');
}

export function pathOf(change: Change): string {
  return `${CHANGES}/${encodeURIComponent(change.client_id)}/${encodeURIComponent(change.id)}`;
}

/** Start the job and follow it to its end. */
async function run(change: Change, isTried: boolean, tell: (job: Job) => void, stop: AbortSignal): Promise<Job> {
  let job = await post<Job>(`${pathOf(change)}/revert`, undefined, isTried ? { dry_run: 'true' } : {});
  tell(job);
  while (!ENDED.includes(job.state) && !stop.aborted) {
    await new Promise((resolve) => setTimeout(resolve, EVERY));
    job = await getOf<Job>(change.client_id, `/public/v2/jobs/${job.id}`, {}, stop);
    tell(job);
  }
  return job;
}

export function Reverting() {
  const change = reverting.value;
  return change && <Revert key={change.id} change={change} onClose={() => (reverting.value = null)} />;
}

function Revert({ change, onClose }: { change: Change; onClose: () => void }) {
  const [stop] = useState(() => new AbortController());
  const [job, setJob] = useState<Job | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const tried = useRead<Job>(`the revert of ${change.id}`, (signal) => run(change, true, () => undefined, signal), { gcTime: 0, retry: false });
  useEffect(() => () => stop.abort(), []);
  async function start() {
    setProblem(null);
    try {
      const ended = await run(change, false, setJob, stop.signal);
      if (ended.error) setProblem(asProblem(new Error(ended.error)));
    } catch (error) {
      if (!stop.signal.aborted) setProblem(asProblem(error));
    }
    void readAgain(CHANGES, '/public/v2/', '/team/v1/');
  }
  const preview = tried.data;
  const shown = job ?? preview;
  const ended = job !== null && ENDED.includes(job.state);
  const nothing = preview !== undefined && !outcomes(preview).some(([name, value]) => name !== 'kept' && value);
  return (
    <Dialog title={`Revert: ${changeName(change)}`} onClose={onClose}>
      {(tried.error ?? problem) && <ProblemNote problem={problem ?? (tried.error as Problem)} />}
      {!shown && !tried.error && (
        <div aria-label="Counting what would go back">
          <Skeleton lines={3} />
        </div>
      )}
      {shown && !problem && (
        <p role="status">
          {!job && (nothing ? 'Nothing would go back.' : 'This would go back now, except what somebody changed since:')}
          {job && !ended && `Reverting: ${counted(job, 'percent') ?? 0} %`}
          {ended && (job.state === 'succeeded' ? 'Reverted.' : 'The revert was stopped. What went back stays so; it can be started again.')}
        </p>
      )}
      {job && !ended && <progress max={100} value={counted(job, 'percent') ?? 0} aria-label="Progress of the revert" />}
      {shown && <Outcomes job={shown} done={ended} change={change} />}
      <footer>
        {ended ? (
          <>
            <Button icon="download" onClick={() => void fetchReport(change, job)}>
              Fetch the report
            </Button>
            <Button kind="main" onClick={onClose}>
              Close
            </Button>
          </>
        ) : (
          <>
            <Button onClick={onClose}>{job ? 'Close' : 'Cancel'}</Button>
            {!job && (
              <Button kind="main" icon="undo" disabled={!preview || nothing} onClick={() => void start()}>
                Revert
              </Button>
            )}
          </>
        )}
      </footer>
    </Dialog>
  );
}

const WORDS: readonly (readonly [string, string, string])[] = [
  ['changed', 'get their former values', 'have their former values'],
  ['deleted', 'go to the bin', 'are in the bin'],
  ['restored', 'come back', 'are back'],
  ['divided', 'are divided', 'were divided'],
  ['unblocked', 'leave the do-not-contact list', 'are no longer on the do-not-contact list'],
  ['renamed', 'gets its former name, and its records follow', 'has its former name, and its records follow'],
  ['remapped', 'connection gets its former settings', 'connection has its former settings'],
  ['withdrawn', 'lose what the mapping brought', 'have lost what the mapping brought'],
  ['gone', 'were made by it alone, and go', 'were made by it alone, and are gone'],
  ['reread', 'webhooks are read again', 'webhooks are read again'],
  ['unchanged', 'have their former values already', 'had their former values already'],
  ['kept', 'stay', 'stay'],
];

function outcomes(job: Job): [string, number][] {
  return WORDS.map(([name]) => [name, counted(job, name) ?? 0]);
}

interface Staying {
  record: string;
  id: number | null;
  reason: string;
}

function Outcomes({ job, done, change }: { job: Job; done: boolean; change: Change }) {
  const listed = (job.progress.listed ?? []) as Staying[];
  const kept = counted(job, 'kept') ?? 0;
  return (
    <>
      <ul>
        {WORDS.filter(([name]) => counted(job, name)).map(([name, will, are]) => (
          <li key={name}>
            <b>{count(counted(job, name) ?? 0)}</b> {done ? are : will}
          </li>
        ))}
      </ul>
      {listed.length > 0 && (
        <section aria-label="What stays">
          <ul class="staying" tabIndex={0} aria-label="Records that stay">
            {listed.map((each, n) => (
              <li key={n}>
                <Staying of={each} change={change} /> <span class="faint">{each.reason}</span>
              </li>
            ))}
          </ul>
          {kept > listed.length && <p class="faint">{`The first ${count(listed.length)} of ${count(kept)}; the report has all.`}</p>}
        </section>
      )}
    </>
  );
}

function Staying({ of, change }: { of: Staying; change: Change }) {
  const screen = { contact: 'contacts', company: 'companies', conversation: 'contacts' }[of.record];
  const name = `${words(of.record)} ${of.id ?? ''}`;
  return screen && of.id !== null && isHere(change) ? (
    <a href={href(`/${screen}/${of.id}`)} onClick={() => (reverting.value = null)}>
      {name}
    </a>
  ) : (
    <span>{name}</span>
  );
}

async function fetchReport(change: Change, job: Job): Promise<void> {
  try {
    const response = await send('GET', `/public/v2/jobs/${job.id}/report`, { headers: { 'x-client-id': change.client_id } });
    save(`revert-${job.id}.csv`, await response.blob());
  } catch (error) {
    toastProblem(error);
  }
}
