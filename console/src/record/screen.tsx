/** One record: what is known, why, and what happened. */
import type { ComponentChildren } from 'preact';
import { call, get, type Problem } from '../api';
import { suppress } from '../grid/changes';
import { Reasons } from '../grid/reasons';
import { companies, companyName, NO_DOMAIN } from '../kinds/companies';
import { COMPANIES } from '../kinds/company';
import { CONTACTS } from '../kinds/contact';
import type { AnyRecord, Kind } from '../kinds/kind';
import { readAgain, useGet, useRead } from '../data';
import { useShortcuts } from '../keys';
import { go, href } from '../route';
import { canWrite, isAdmin } from '../session';
import type { Company, Contact, Page, Schemas, Status, Suppression } from '../types';
import { NewTask, TaskButton, TasksOf } from '../tasks/tasks';
import { useTitle } from '../title';
import { Button, Empty, Icon, ProblemNote, Skeleton, Time } from '../ui/basic';
import { copy, Entry, Popover } from '../ui/overlay';
import { digitOf, MOST_KEYS, StatusMark, withDigits } from '../ui/status';
import { toast, toastProblem } from '../ui/toast';
import { words } from '../words';
import { change, etagOf } from './change';
import { Doubles } from './doubles';
import { Fields, type Known } from './fields';
import { NewNote, NoteButton, notedHere } from './notes';
import { People, usePeopleOf } from './people';
import { StatusBar } from './status-bar';
import { Story } from './story';
import { OwnerPick } from './owner';
import { listOf, Walk } from './walk';

async function read<R extends AnyRecord>(kind: Kind<R>, id: string, signal: AbortSignal): Promise<Known<R>> {
  const path = `${kind.api}/${encodeURIComponent(id)}`;
  const [record, explained, suppression] = await Promise.all([
    get<R>(path, { structure: 'FLAT' }, signal),
    get<Schemas['Explanation']>(`${path}/explain`, {}, signal),
    get<Suppression>(`${path}/suppression`, {}, signal),
  ]);
  await kind.prepare([record]);
  return { record, explained: explained.data, profiles: explained.linkedin_profiles ?? [], suppression };
}

export function ContactPage({ id }: { id: string }) {
  return <RecordPage kind={CONTACTS} id={id} facts={contactFacts} />;
}

export function CompanyPage({ id }: { id: string }) {
  return <RecordPage kind={COMPANIES} id={id} facts={companyFacts} />;
}

interface PageProps<R extends AnyRecord> {
  kind: Kind<R>;
  id: string;
  /** What is shown below the name. */
  facts: (of: R) => ComponentChildren;
}

function RecordPage<R extends AnyRecord>({ kind, id, facts }: PageProps<R>) {
  const loaded = useRead(`${kind.api}/${id} page`, (signal) => read(kind, id, signal));
  const people = usePeopleOf(kind.one === 'company' ? id : '');
  const known = loaded.data;
  const on = notedHere(kind.many, id);
  useTitle(known ? kind.nameOf(known.record) : words(kind.one));
  if (loaded.error && !known) return <Missing kind={kind} problem={loaded.error} reload={() => void loaded.refetch()} />;
  return (
    <main id="main" class="screen record">
      <div class="record-top">
        <Walk kind={kind} id={id} />
      </div>
      {known ? <Head kind={kind} known={known} facts={facts} reload={() => void loaded.refetch()} /> : <div class="record-head"><Skeleton lines={2} wide={40} /></div>}
      <div class="record-body">
        <div class="record-main">
          {known ? <StatusBar kind={kind} record={known.record} explained={known.explained.find((each) => each.field === kind.status)} /> : <div class="status-bar" />}
          <TasksOf on={on} />
          {kind.one === 'company' && <People id={id} />}
          {(kind.one === 'contact' || people.data || people.error) && (
            <section aria-labelledby="story">
              <div class="row story-head">
                <h2 id="story">What happened</h2>
                <span class="push" />
                <TaskButton on={on} />
                <NoteButton on={on} />
              </div>
              <NewTask on={on} />
              <NewNote on={on} />
              <Story api={kind.api} id={id} on={on} />
            </section>
          )}
        </div>
        <aside class="record-side" aria-label="Fields">
          {known ? (
            <>
              <Fields kind={kind} known={known} />
              <Doubles kind={kind} record={known.record} reload={() => void loaded.refetch()} />
            </>
          ) : (
            <Skeleton lines={9} wide={90} />
          )}
        </aside>
      </div>
    </main>
  );
}

function Missing<R extends AnyRecord>({ kind, problem, reload }: { kind: Kind<R>; problem: Problem; reload: () => void }) {
  const into = problem.body.existing_id;
  return (
    <main id="main" class="screen fixed">
      {problem.status === 404 ? (
        <Empty icon={kind.icon} whole title={into ? `This ${kind.one} was merged into another one` : `There is no such ${kind.one}`}>
          <p>{problem.message}</p>
          <a class="button" href={href(into ? `${kind.path}/${into}` : kind.path)}>
            {into ? 'Show that one' : `All ${kind.many}`}
          </a>
        </Empty>
      ) : (
        <ProblemNote problem={problem} retry={reload} />
      )}
    </main>
  );
}

function Copied({ text, what }: { text: string; what: string }) {
  return (
    <span class="fact">
      <span class="cut">{text}</span>
      <Button kind="quiet" icon="copy" label={`Copy the ${what}`} onClick={() => void copy(text).then(() => toast('It is copied.'))} />
    </span>
  );
}

function contactFacts(of: Contact) {
  const company = of.company_id === undefined ? undefined : companies.value.get(of.company_id);
  return (
    <>
      {of.email && <Copied text={of.email} what="e-mail address" />}
      {company && (
        <a class="cut" href={href(`/companies/${company.id}`)}>
          {companyName(company)}
        </a>
      )}
      {of.last_reply_received && (
        <span>
          Replied <Time at={of.last_reply_received} as="ago" />
        </span>
      )}
    </>
  );
}

function companyFacts(of: Company) {
  return of.domain ? <Copied text={of.domain} what="domain" /> : <span>{NO_DOMAIN}</span>;
}

function Head<R extends AnyRecord>({ kind, known, facts, reload }: { kind: Kind<R>; known: Known<R>; facts: PageProps<R>['facts']; reload: () => void }) {
  const { record, suppression } = known;
  return (
    <header class="record-head">
      <div class="who">
        <h1>{kind.nameOf(record)}</h1>
        <p class="facts">{facts(record)}</p>
      </div>
      {canWrite.value && !suppression.suppressed && kind.listed(record) && (
        <Popover text="Block" label="Block" icon="ban" kind="quiet" class="block">
          {(close) => (
            <div class="entries">
              <p class="faint">Block the {kind.listedAs[0]}, because:</p>
              <Reasons
                pick={(reason) => {
                  close();
                  void suppress(kind, [record], reason, reload);
                }}
              />
            </div>
          )}
        </Popover>
      )}
      <OwnerPick kind={kind} record={record} of={notedHere(kind.many, record.id).of} />
      <StatusPick kind={kind} record={record} />
      <More kind={kind} record={record} />
      {suppression.suppressed && (
        <p class="stop">
          <Icon name="ban" />
          <span>
            Must not be contacted{suppression.reason ? `: ${words(suppression.reason).toLowerCase()}` : ''}
            {suppression.since && (
              <>
                , since <Time at={suppression.since} />
              </>
            )}
            {suppression.value && (
              <>
                {' '}
                (<a href={href('/suppressions', { value: suppression.value, list: suppression.list === 'installation' ? 'all' : '' })}>the entry</a>)
              </>
            )}
          </span>
        </p>
      )}
    </header>
  );
}

interface RecordProps<R extends AnyRecord> {
  kind: Kind<R>;
  record: R;
}

/** Delete a record; it is in the bin, and its message restores it. */
async function remove<R extends AnyRecord>({ kind, record }: RecordProps<R>): Promise<void> {
  const path = `${kind.api}/${record.id}`;
  try {
    await call('DELETE', path, { headers: { 'if-match': etagOf(record) } });
  } catch (error) {
    toastProblem(error);
    return;
  }
  go(kind.path, listOf(kind) ?? {});
  void readAgain(kind.api);
  toast(`${kind.nameOf(record)} is deleted.`, { undo: () => call('POST', `${path}/restore`).then(() => readAgain(kind.api)) });
}

function More<R extends AnyRecord>({ kind, record }: RecordProps<R>) {
  if (!canWrite.value) return null;
  return (
    <Popover text="" label="Other acts" icon="more" kind="quiet">
      {(close) => (
        <div class="entries">
          {kind.one === 'contact' && isAdmin.value && (
            <a class="entry" href={href('/erasure', { person: `${record.id}` })}>
              <Icon name="erase" />
              <span class="cut">Export or erase this person’s data</span>
            </a>
          )}
          <Entry icon="close" onPick={() => (close(), void remove({ kind, record }))}>
            Delete
          </Entry>
        </div>
      )}
    </Popover>
  );
}

function StatusPick<R extends AnyRecord>({ kind, record }: RecordProps<R>) {
  const statuses = useGet<Page<Status>>(`/public/v2/statuses/${kind.many}`, { limit: '200' });
  const now = kind.statusOf(record);
  const digits = new Map(withDigits(statuses.data?.data ?? []).map((status, n) => [digitOf(status, n), status.name]));
  const keyOf = new Map([...digits].map(([digit, name]) => [name, digit]));
  function set(name: string | undefined) {
    if (name === undefined || name === now) return;
    change(kind, record, { [kind.status]: name }, { [kind.status]: now ?? null }, `Status set to “${words(name)}”.`).catch(toastProblem);
  }
  latest.set = (digit) => set(digits.get(digit));
  useShortcuts(() => {
    if (!canWrite.value) return [];
    const press = (button: string) => () => document.querySelector<HTMLElement>(`.record-head ${button}`)?.click();
    const group = kind.title;
    return [
      { keys: 's', does: 'Set the status', group, run: press('.pick-status') },
      ...Array.from({ length: MOST_KEYS }, (_, n) => ({ keys: `${n + 1}`, does: `Set the status that has a ${n + 1}`, group, run: () => latest.set(n + 1) })),
      { keys: 'b', does: 'Block', group, run: press('.block') },
    ];
  });
  if (!canWrite.value) return <StatusMark status={now} />;
  return (
    <Popover text={<StatusMark status={now} />} label={`Status: ${now ? words(now) : 'No status'}`} class="pick-status">
      {(close) => (
        <div class="entries">
          {statuses.data?.data.map((each) => (
            <Entry
              key={each.name}
              chosen={each.name === now}
              note={keyOf.has(each.name) ? <kbd>{keyOf.get(each.name)}</kbd> : undefined}
              onPick={() => (close(), set(each.name))}
            >
              <StatusMark status={each.name} />
            </Entry>
          ))}
        </div>
      )}
    </Popover>
  );
}

/** What the digits work on: they are added once, the record changes. */
const latest = { set: (_: number) => undefined as void };
