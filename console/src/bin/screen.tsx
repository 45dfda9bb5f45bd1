/** Deleted contacts and companies, each with when it goes for good and the way back. */
import { useState } from 'preact/hooks';
import { asProblem, call, type Problem } from '../api';
import { readAgain, usePages } from '../data';
import { COMPANIES } from '../kinds/company';
import { CONTACTS } from '../kinds/contact';
import type { AnyRecord, Kind } from '../kinds/kind';
import { go, href, place } from '../route';
import { canWrite, showsAll } from '../session';
import { useTitle } from '../title';
import { Button, Empty, ProblemNote, Skeleton, Time } from '../ui/basic';
import { asClient, ClientChip } from '../ui/client-chip';
import { toast } from '../ui/toast';

interface Deleted {
  deleted_at: string;
  /** Null: it waits for a person's decision. */
  gone_at: string | null;
  /** Where all clients are shown. */
  client_id?: string;
}

export function Bin() {
  const isCompanies = place.value.query.get('of') === 'companies';
  useTitle('Bin');
  return (
    <main id="main" class="screen clients">
      <header class="screen-head">
        <h1>Bin</h1>
        <div class="switch" role="group" aria-label="Kind of record">
          {[CONTACTS, COMPANIES].map(({ many, title }) => (
            <button key={many} type="button" aria-pressed={(many === 'companies') === isCompanies} onClick={() => go('/bin', many === 'companies' ? { of: many } : {})}>
              {title}
            </button>
          ))}
        </div>
      </header>
      {isCompanies ? <List key="companies" kind={COMPANIES} /> : <List key="contacts" kind={CONTACTS} />}
    </main>
  );
}

function List<R extends AnyRecord>({ kind }: { kind: Kind<R> }) {
  const { data, error, hasMore, more, refetch } = usePages<R & Deleted>(showsAll.value ? `/team/v1/${kind.many}/deleted` : `${kind.api}/deleted`, { structure: 'FLAT', limit: '50' });
  if (error && !data) return <ProblemNote problem={error} retry={refetch} />;
  if (!data) return <Skeleton lines={8} wide={100} />;
  if (!data.length) {
    return (
      <Empty icon={kind.icon} title={`No deleted ${kind.many}`}>
        <p>What is deleted stays here for the days that the client’s settings say, and can be restored with its history.</p>
      </Empty>
    );
  }
  return (
    <>
      <ul class="lines" aria-label={`Deleted ${kind.many}`}>
        {data.map((record) => (
          <Line key={`${record.client_id} ${record.id}`} kind={kind} record={record} />
        ))}
      </ul>
      {hasMore && <Button onClick={more}>Show more</Button>}
    </>
  );
}

function Line<R extends AnyRecord>({ kind, record }: { kind: Kind<R>; record: R & Deleted }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const name = kind.nameOf(record);
  const path = `${kind.api}/${record.id}`;
  const of = asClient(record.client_id);
  const again = () => readAgain(kind.api, `/team/v1/${kind.many}`);
  async function restore() {
    setBusy(true);
    setProblem(null);
    try {
      await call('POST', `${path}/restore`, of);
      toast(`${name} is restored.`, { undo: () => call('DELETE', path, of).then(again) });
      await again();
    } catch (failure) {
      setProblem(asProblem(failure));
      setBusy(false);
    }
  }
  return (
    <li class="line-of short">
      <div class="what">
        <span class="strong cut" dir="auto">
          {name}
        </span>
        <span class="faint cut">
          <ClientChip of={record.client_id} /> {kind.below(record)} · deleted <Time at={record.deleted_at} as="ago" />, {record.gone_at ? <>gone <Time at={record.gone_at} /></> : 'waits for a decision under Erasure'}
        </span>
        {problem && (
          <p class="wrong" role="alert">
            {problem.message} {problem.body.existing_id !== undefined && <a href={href(`${kind.path}/${problem.body.existing_id}`, {}, record.client_id)}>Show that {kind.one}</a>}
          </p>
        )}
      </div>
      {canWrite.value && (
        <div class="tools">
          <Button icon="undo" busy={busy} aria-label={`Restore ${name}`} onClick={() => void restore()}>
            Restore
          </Button>
        </div>
      )}
    </li>
  );
}
