/** The export of a view: a job of the server, with its progress, a way to stop, and the file at its end. */
import { useEffect, useState } from 'preact/hooks';
import { asProblem, post, send, type Problem } from '../api';
import { save } from '../csv';
import { readAgain, useGet } from '../data';
import { ENDED, type Job } from '../imports/types';
import { counted, waits } from '../imports/words';
import type { AnyRecord, Kind } from '../kinds/kind';
import { href } from '../route';
import { canWrite } from '../session';
import { Button, ProblemNote } from '../ui/basic';
import { Confirm, Field } from '../ui/confirm';
import { Dialog } from '../ui/overlay';
import { plural } from '../words';
import type { View } from './view';

const FORMATS = [
  ['csv', 'CSV, for spreadsheets'],
  ['ndjson', 'NDJSON, a record on each line'],
  ['parquet', 'Parquet, for data tools'],
] as const;
const SOON = 500;

/** The members of the records that the columns of a view show. */
function fieldsOf<R extends AnyRecord>(kind: Kind<R>, columns: readonly string[]): string[] {
  const of = (key: string): string[] => {
    if (key === 'name') return kind.one === 'contact' ? ['first_name', 'last_name'] : ['name'];
    if (key === 'company') return ['company_id'];
    return [key.startsWith('cf.') ? `${kind.one}_custom_fields` : key];
  };
  return [...new Set(['name', ...columns].flatMap(of))].filter((each) => each !== 'id');
}

interface Props<R extends AnyRecord> {
  kind: Kind<R>;
  view: View;
  /** How many match, as far as it is known. */
  total: number | null;
  onClose: () => void;
}

export function Export<R extends AnyRecord>({ kind, view, total, onClose }: Props<R>) {
  const [job, setJob] = useState<Job | null>(null);
  const [format, setFormat] = useState('csv');
  const [columns, setColumns] = useState('view');
  const [free, setFree] = useState(false);
  if (job) return <Running started={job} total={free ? null : total} onClose={onClose} />;

  async function start() {
    const query: [string, string][] = view.filters.map(([name, value]) => [name, value]);
    if (view.q.trim()) query.push(['q', view.q.trim()]);
    query.push(['format', format]);
    if (columns === 'view') query.push(['fields', fieldsOf(kind, view.columns).join(',')]);
    if (free) query.push(['suppressed', 'false']);
    setJob(await post<Job>(`${kind.api}/exports`, undefined, query));
    return false;
  }

  return (
    <Confirm title={`Export ${kind.many}`} action="Export" onClose={onClose} run={start}>
      <p>All {kind.many} that match the view, in the order in which they were created. The server writes the file; it goes on if you close this.</p>
      <Field label="Format">
        <select autofocus value={format} onChange={(event) => setFormat(event.currentTarget.value)}>
          {FORMATS.map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Columns" help={view.columns.some((each) => each.startsWith('cf.')) && columns === 'view' ? 'With a custom field, all of them come.' : 'The id is always there.'}>
        <select value={columns} onChange={(event) => setColumns(event.currentTarget.value)}>
          <option value="view">Those of the view</option>
          <option value="all">All, with custom fields</option>
        </select>
      </Field>
      <label class="check">
        <input type="checkbox" checked={free} onChange={(event) => setFree(event.currentTarget.checked)} />
        <span>Leave out those who must not be contacted</span>
      </label>
    </Confirm>
  );
}

function Running({ started, total, onClose }: { started: Job; total: number | null; onClose: () => void }) {
  const path = `/public/v2/jobs/${started.id}`;
  const loaded = useGet<Job>(path, {}, { initialData: started, refetchInterval: (of) => (of.state.data && waits(of.state.data) ? SOON : false) });
  const job = loaded.data ?? started;
  const [failed, setProblem] = useState<Problem | null>(null);
  const [saved, setSaved] = useState('');
  const problem = failed ?? loaded.error;
  const ended = ENDED.includes(job.state);
  const rows = counted(job, 'rows');
  useEffect(() => {
    if (job.state === 'succeeded') void fetchFile();
  }, [job.state]);

  async function fetchFile() {
    setProblem(null);
    try {
      const response = await send('GET', `${path}/result`);
      const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? `export-${job.id}`;
      save(name, await response.blob());
      setSaved(name);
    } catch (error) {
      setProblem(asProblem(error));
    }
  }
  const stop = () => post<Job>(`${path}/cancel`).then(() => readAgain(path), (error: unknown) => setProblem(asProblem(error)));
  const written = rows === null ? '' : `${plural(rows, 'record')} written. `;
  const says: Record<string, string> = {
    queued: 'It waits for its turn.', running: written || 'It begins…', cancelled: `${written}It was stopped.`, failed: `${written}It failed.`,
    succeeded: saved ? `${written}The file is saved as ${saved}.` : `${written}The file is on its way…`,
  };
  return (
    <Dialog title="Export" onClose={onClose}>
      {!ended && <progress aria-label="Progress" {...(total !== null && rows !== null && { max: Math.max(total, rows, 1), value: rows })} />}
      <p role="status">{says[job.state] ?? job.state}</p>
      {job.error && <p class="stop">{job.error}</p>}
      {problem && <ProblemNote problem={problem} retry={() => (job.state === 'succeeded' ? void fetchFile() : readAgain(path))} />}
      <p class="faint">
        <a href={href(`/imports/${job.id}`)}>Job {job.id}</a> has the counts, and the file until it is removed.
      </p>
      <footer>
        {!ended && canWrite.value && (
          <Button icon="close" onClick={() => void stop()}>
            Stop
          </Button>
        )}
        {job.state === 'succeeded' && (
          <Button icon="download" onClick={() => void fetchFile()}>
            Save the file again
          </Button>
        )}
        <Button kind="main" onClick={onClose}>
          Close
        </Button>
      </footer>
    </Dialog>
  );
}
