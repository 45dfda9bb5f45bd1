/** Imports: drop a file, map its columns, watch, fetch the bad rows; and the other long work of the client. */
import { usePages } from '../data';
import { go, href, place } from '../route';
import { canWrite } from '../session';
import { useTitle } from '../title';
import { Button, Empty, LoadProblem, Skeleton, Time } from '../ui/basic';
import { Drop } from './drop';
import { OneJob, OtherRun, StateMark } from './job';
import { type Job } from './types';
import { counted, jobName, jobTitle, summary, waits } from './words';

const KINDS = ['contacts.import', 'companies.import', 'contacts.export', 'companies.export'];
const STATES = ['preview', 'running', 'succeeded', 'failed', 'cancelled'] as const;
const STATE_NAMES = { preview: 'Not started', running: 'Running', succeeded: 'Done', failed: 'Failed', cancelled: 'Cancelled' };
const SOON = 1500;
const LATER = 15_000;

export function Imports({ job }: { job: string }) {
  return job ? <OneJob key={job} id={job} /> : <List />;
}

function List() {
  const { query } = place.value;
  const filter = Object.fromEntries([['kind', query.get('job')], ['state', query.get('state')]].filter(([, value]) => value)) as Record<string, string>;
  const loaded = usePages<Job>('/public/v2/jobs', { ...filter, limit: '50' }, { refetchInterval: (pages) => (pages[0]?.data.some(waits) ? SOON : LATER) });
  const jobs = loaded.data;
  useTitle('Imports');
  const show = (changed: Record<string, string>) => go('/imports', { ...Object.fromEntries(query), ...changed });
  return (
    <main id="main" class="screen imports">
      <header class="screen-head">
        <h1>Imports</h1>
      </header>
      {canWrite.value && <Drop />}
      <section aria-labelledby="jobs">
        <header class="list-head">
          <h2 id="jobs">Imports, exports and other long work</h2>
          <span class="push" />
          <label>
            <span class="hidden">Kind</span>
            <select value={query.get('job') ?? ''} onChange={(event) => show({ job: event.currentTarget.value })}>
              <option value="">All kinds</option>
              {KINDS.map((each) => (
                <option key={each} value={each}>
                  {jobName(each)}
                </option>
              ))}
            </select>
          </label>
          <label>
            <span class="hidden">State</span>
            <select value={query.get('state') ?? ''} onChange={(event) => show({ state: event.currentTarget.value })}>
              <option value="">All states</option>
              {STATES.map((each) => (
                <option key={each} value={each}>
                  {STATE_NAMES[each]}
                </option>
              ))}
            </select>
          </label>
        </header>
        <LoadProblem of={loaded} />
        {!jobs && !loaded.error && <Skeleton lines={5} wide={90} />}
        {jobs?.length === 0 && (Object.keys(filter).length ? <Empty icon="search" title="None like this"><a class="button" href={href('/imports')}>Show all</a></Empty> : <NoJob />)}
        <ul class="jobs">
          {jobs?.map((each) => (
            <Line key={each.id} job={each} />
          ))}
        </ul>
        {loaded.hasMore && <Button onClick={loaded.more}>Show older</Button>}
      </section>
    </main>
  );
}

function NoJob() {
  return (
    <Empty icon="upload" title="Nothing was imported yet">
      <p>{canWrite.value ? 'Drop a list above. It appears here with its counts, and with the rows that were refused.' : 'Your key may not write. Imports that others start appear here.'}</p>
    </Empty>
  );
}

function Line({ job }: { job: Job }) {
  const percent = counted(job, 'percent');
  const runs = job.state === 'running' || job.state === 'queued';
  return (
    <li>
      <a href={href(`/imports/${job.id}`)}>
        <span class="strong cut" dir="auto">
          {jobTitle(job)}
        </span>
        <StateMark job={job} />
        <span class="faint cut">{[job.settings.file_name ? jobName(job.kind) : '', runs && percent !== null ? `${percent} %` : (job.error ?? summary(job))].filter(Boolean).join(' · ')}</span>
        <Time at={job.created_at} />
      </a>
      <OtherRun of={job.settings} />
    </li>
  );
}

