/** One job: its columns before it starts, its progress while it runs, its counts and files when it has ended. */
import { useState } from 'preact/hooks';
import { asProblem, post, send, type Problem } from '../api';
import { save } from '../csv';
import { readAgain, useGet } from '../data';
import { reverting, type Change } from '../history/open';
import { client, go, href, place } from '../route';
import { canWrite, session } from '../session';
import { useTitle } from '../title';
import type { Page } from '../types';
import { Button, Empty, Icon, LoadProblem, ProblemNote, Skeleton, Time } from '../ui/basic';
import { Mark } from '../ui/status';
import { toastProblem } from '../ui/toast';
import { count, longTime, plural, span, words } from '../words';
import { BadRows, ReportLines } from './lines';
import { MappingForm } from './mapping';
import { ENDED, type Job, type Settings } from './types';
import { counted, isImport, jobName, jobTitle, LISTS, lookOfJob, manyOf, meaning, stateName, waits } from './words';

const SOON = 700;

export function OneJob({ id }: { id: string }) {
  const path = `/public/v2/jobs/${encodeURIComponent(id)}`;
  const loaded = useGet<Job>(path, {}, { refetchInterval: (of) => (of.state.data && waits(of.state.data) ? SOON : false) });
  const job = loaded.data;
  useTitle(job ? jobTitle(job) : 'Import');
  const changed = () => readAgain('/public/v2/jobs');
  if (loaded.error && !job) return <Missing problem={loaded.error} reload={() => void loaded.refetch()} />;
  return (
    <main id="main" class="screen imports">
      <a class="back" href={href('/imports')}>
        <Icon name="left" /> Imports
      </a>
      {job ? <Head job={job} path={path} changed={changed} /> : <Skeleton lines={8} wide={80} />}
      <LoadProblem of={loaded} />
      {job?.state === 'preview' && job.preview && (canWrite.value ? <MappingForm job={job} preview={job.preview} started={changed} /> : <p>Your key may not start it.</p>)}
      {job && job.state !== 'preview' && <Progress job={job} />}
      {job && ENDED.includes(job.state) && <After job={job} path={path} changed={changed} />}
    </main>
  );
}

function Missing({ problem, reload }: { problem: Problem; reload: () => void }) {
  return (
    <main id="main" class="screen fixed">
      {problem.status === 404 ? (
        <Empty icon="upload" whole title="There is no such job">
          <p>{problem.message}</p>
          <a class="button" href={href('/imports')}>
            All imports
          </a>
        </Empty>
      ) : (
        <ProblemNote problem={problem} retry={reload} />
      )}
    </main>
  );
}

function Head({ job, path, changed }: { job: Job; path: string; changed: () => void }) {
  const cancel = () => post<Job>(`${path}/cancel`).then(changed, toastProblem);
  return (
    <header class="screen-head">
      <div class="who">
        <h1 dir="auto">{jobTitle(job)}</h1>
        <p class="facts">
          <StateMark job={job} />
          {job.settings.file_name && <span>{jobName(job.kind)}</span>}
          <span>
            {isImport(job) && !job.settings.test_id ? 'Uploaded' : 'Started'} <Time at={job.created_at} as="ago" />
          </span>
          <OtherRun of={job.settings} />
        </p>
      </div>
      {canWrite.value && !ENDED.includes(job.state) && (
        <Button icon="close" onClick={() => void cancel()}>
          {job.state === 'preview' ? 'Discard' : 'Stop'}
        </Button>
      )}
    </header>
  );
}

function Progress({ job }: { job: Job }) {
  const percent = counted(job, 'percent') ?? (job.state === 'succeeded' ? 100 : 0);
  const rows = counted(job, 'rows');
  const ended = ENDED.includes(job.state);
  const text = job.state === 'queued' ? 'It waits for its turn.' : rows === null ? `${percent} %` : isImport(job) ? `${plural(rows, 'row')} read, ${percent} %` : readOrWritten(job, rows);
  const others = Object.entries(job.progress).filter(([name, value]) => typeof value === 'number' && name !== 'percent' && name !== 'rows');
  return (
    <section class="progress" aria-label="Progress">
      {!ended && <progress {...(isImport(job) && { max: 100, value: percent })} aria-label="Progress" />}
      <p role="status" class="faint">
        {ended ? ending(job) : text}
      </p>
      {job.error && <p class="stop">{job.error}</p>}
      {isImport(job) ? job.started_at && (
        <>
          <Counts job={job} ofRows />
          {rows !== null && <p class="faint">{`Together ${plural(rows, 'row')} of the file. Of these:`}</p>}
          <Counts job={job} ofRows={false} />
        </>
      ) : (
        <dl class="figures">
          {others.map(([name, value]) => (
            <div key={name}>
              <dt>{words(name)}</dt>
              <dd>
                <b>{count(value as number)}</b>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

/** Counts of an import; each that is not 0 opens its list once the report is there. */
function Counts({ job, ofRows }: { job: Job; ofRows: boolean }) {
  const record = manyOf(job) === 'contacts' ? 'contact' : 'company';
  const shown = place.value.query.get('list');
  return (
    <dl class="figures">
      {LISTS.filter((each) => each.ofRows === ofRows && (counted(job, each.name) || each.name !== 'erased')).map(({ name, title }) => {
        const total = counted(job, name) ?? 0;
        return (
          <div key={name} class={name === 'invalid' && total ? 'bad' : ''}>
            <dt>{title}</dt>
            <dd>
              {total && job.files.report ? (
                <a href={href(`/imports/${job.id}`, { list: name })} aria-current={shown === name} aria-label={`List ${count(total)}: ${title}`}>
                  <b>{count(total)}</b>
                </a>
              ) : (
                <b>{count(total)}</b>
              )}{' '}
              <span class="faint">{meaning(name, record)}</span>
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function readOrWritten(job: Job, rows: number): string {
  return isImport(job) || job.kind === 'connections.load' ? `${plural(rows, 'row')} read` : `${plural(rows, 'record')} written`;
}

function ending(job: Job): string {
  const rows = counted(job, 'rows');
  const took = job.started_at && job.finished_at ? new Date(job.finished_at).getTime() - new Date(job.started_at).getTime() : null;
  const time = took === null ? '' : took < 60_000 ? ` in ${Math.max(0.1, took / 1000).toFixed(1)} seconds` : ` in ${span(took)}`;
  const read = rows === null ? '' : `${readOrWritten(job, rows)}${time}. `;
  if (job.state === 'cancelled' && job.started_at === null) return 'It was discarded. Nothing was written.';
  if (job.state === 'cancelled') return `${read}It was stopped. What it had written stays.`;
  if (job.state === 'failed') return `${read}It failed. What it had written stays.`;
  return job.settings.dry_run ? `${read}This was only tried: nothing was written.` : `${read}It is done.`;
}

function After({ job, path, changed }: { job: Job; path: string; changed: () => void }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const many = manyOf(job);
  const hasFile = job.files_until !== null && Date.parse(job.files_until) > Date.now();
  const list = place.value.query.get('list') ?? '';
  const wrote = isImport(job) && !job.settings.dry_run && job.started_at !== null;
  const during = { 'created_time[gte]': job.started_at ?? '', ...(job.finished_at && { 'created_time[lte]': job.finished_at }), sort: 'created_time' };
  async function fetchFile(name: string, saved: string) {
    setBusy(true);
    try {
      const response = await send('GET', `${path}/${name}`);
      const stated = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1];
      save(stated ?? saved, await response.blob());
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }
  async function importNow() {
    setBusy(true);
    try {
      go(`/imports/${(await post<Job>(`${path}/start`, { dry_run: false })).id}`);
      changed();
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }
  return (
    <>
      <div class="actions">
        {job.settings.dry_run && job.state === 'succeeded' && canWrite.value && !job.settings.import_id && (hasFile ? (
          <Button kind="main" icon="upload" busy={busy} onClick={() => void importNow()}>
            Import it now
          </Button>
        ) : (
          <a class="button main" href={href('/imports', { kind: many === 'companies' ? many : '' })}>
            Drop the file again to import it
          </a>
        ))}
        {job.files.result && (
          <Button kind="main" icon="download" busy={busy} onClick={() => void fetchFile('result', `job-${job.id}`)}>
            Fetch the file
          </Button>
        )}
        {job.files.bad_rows && (
          <Button icon="download" busy={busy} onClick={() => void fetchFile('bad-rows', `bad-rows-${job.id}.csv`)}>
            {`Fetch the ${plural(counted(job, 'invalid') ?? 0, 'refused row')}`}
          </Button>
        )}
        {job.files.report && (
          <Button icon="download" busy={busy} onClick={() => void fetchFile('report', `report-${job.id}.csv`)}>
            Fetch the report
          </Button>
        )}
        {wrote && canWrite.value && <UndoImport id={job.id} />}
        {wrote && (
          <a class="button" href={href(`/${many}`, during)}>
            {many === 'contacts' ? 'Contacts' : 'Companies'} created while it ran
          </a>
        )}
      </div>
      {problem && <ProblemNote problem={problem} />}
      {list && list !== 'invalid' && job.files.report && <ReportLines key={list} path={path} many={many} list={list} total={counted(job, list) ?? 0} />}
      {(!list || list === 'invalid') && job.files.bad_rows && <BadRows path={`${path}/bad-rows`} total={counted(job, 'invalid') ?? 0} />}
      {job.files_until && (job.files.bad_rows || job.files.result || job.files.report) && <p class="faint">Its files are removed on {longTime(job.files_until)}.</p>}
    </>
  );
}

/** Opens the revert of what an import changed, as long as there is one. */
function UndoImport({ id }: { id: number }) {
  const of = client.value || session.value?.client_id || 'default';
  const { data } = useGet<Page<Change>>('/team/v1/changes', { client_id: of, job_id: `${id}` });
  const change = data?.data[0];
  if (!change || (!change.revertible && change.state === 'open')) return null;
  return (
    <Button icon="undo" disabled={!change.revertible} onClick={() => (reverting.value = change)}>
      {change.state === 'reverted' ? 'Import undone' : change.state === 'reverting' ? 'Import is being undone' : 'Undo import'}
    </Button>
  );
}

/** Leads from a test run to its import, and back. */
export function OtherRun({ of: { test_id, import_id } }: { of: Settings }) {
  const id = import_id ?? test_id;
  return id ? <a href={href(`/imports/${id}`)}>{import_id ? `Import ${id}` : `Test run ${id}`}</a> : null;
}

export function StateMark({ job }: { job: Job }) {
  const [hue, group] = lookOfJob(job.state);
  return (
    <Mark hue={hue} group={group}>
      {stateName(job)}
    </Mark>
  );
}
