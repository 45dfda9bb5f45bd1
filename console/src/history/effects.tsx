/** What a change did: fields with their values before and after, and the records one by one. */
import type { ComponentChildren } from 'preact';
import { useGet, usePages } from '../data';
import { memberName } from '../kinds/kind';
import { OwnerName } from '../record/owner';
import { href } from '../route';
import type { Schemas } from '../types';
import { Button, ProblemNote, Skeleton } from '../ui/basic';
import { Dialog } from '../ui/overlay';
import { count, plural, words } from '../words';
import type { Change } from './open';
import { changeName, isHere, pathOf } from './revert';

type Summary = Schemas['ChangeSummary'];
type RecordEffect = Schemas['RecordEffectOut'];

const SCREENS: Record<string, string> = { contact: 'contacts', company: 'companies', conversation: 'contacts' };
/** Subjects of events that people call otherwise. */
const NAMES: Record<string, string> = { suppression: 'Do-not-contact entry' };
/** Acts that the values before and after say already. */
const SAID = new Set(['updated', 'status_changed']);

export function Effects({ change, onClose }: { change: Change; onClose: () => void }) {
  const summary = useGet<Summary>(`${pathOf(change)}/summary`);
  const records = usePages<RecordEffect>(`${pathOf(change)}/records`, { limit: '50' });
  const problem = summary.error ?? records.error;
  return (
    <Dialog title={`What changed: ${changeName(change)}`} onClose={onClose} wide>
      {problem && <ProblemNote problem={problem} retry={() => (summary.refetch(), records.refetch())} />}
      {!problem && (!summary.data || !records.data) && <Skeleton lines={5} />}
      {summary.data && records.data && (
        <>
          <Totals of={summary.data} />
          {records.data.length > 0 ? (
            <ul class="effects" aria-label="Records of the change" tabIndex={0}>
              {records.data.map((each, n) => (
                <li key={n}>
                  <Subject of={each} change={change} onClose={onClose} />
                  <Values of={each} />
                </li>
              ))}
            </ul>
          ) : (
            <p class="faint">{change.renamed ? `The name “${change.renamed[0]}” became “${change.renamed[1]}”. Its records have no change of their own.` : 'No event of the change is stored any more.'}</p>
          )}
          {records.hasMore && <Button onClick={records.more}>Show more records</Button>}
        </>
      )}
      <footer>
        <Button kind="main" onClick={onClose}>
          Close
        </Button>
      </footer>
    </Dialog>
  );
}

/** "Status: new → replied, 43 contacts". */
function Totals({ of }: { of: Summary }) {
  return (
    <ul aria-label="Fields that changed" class="totals">
      {Object.entries(of.acts).map(([act, records]) => (
        <li key={act}>
          {act.replace(/^\w+/, (subject) => NAMES[subject] ?? words(subject)).replace(/[._]/g, ' ')}: <b>{count(records)}</b>
        </li>
      ))}
      {of.fields.map((each, n) => (
        <li key={n}>
          {memberName(each.field)}: {each.several ? 'other values' : <Pair field={each.field} before={each.before} after={each.after} />}, <b>{plural(each.records, each.record, each.record === 'company' ? 'companies' : undefined)}</b>
        </li>
      ))}
      {!of.complete && <li class="faint">Only the last 5,000 entries are counted; the records below are all.</li>}
    </ul>
  );
}

function Subject({ of, change, onClose }: { of: RecordEffect; change: Change; onClose: () => void }) {
  const screen = SCREENS[of.record];
  const name = of.name || `${NAMES[of.record] ?? words(of.record)} ${of.id ?? ''}`;
  return screen && of.id !== null && of.name && isHere(change) ? (
    <a class="cut" dir="auto" href={href(`/${screen}/${of.id}`)} onClick={onClose}>
      {name}
    </a>
  ) : (
    <b class="cut" dir="auto">
      {name}
    </b>
  );
}

function Values({ of }: { of: RecordEffect }) {
  const acts = of.acts.filter((act) => !SAID.has(act));
  return (
    <span class="faint" dir="auto">
      {acts.map(words).join(', ')}
      {acts.length === 0 &&
        Object.entries(of.changed as Record<string, [unknown, unknown]>).map(([field, [before, after]], n) => (
          <span key={field}>
            {n > 0 && ' · '}
            {memberName(field)}: <Pair field={field} before={before} after={after} />
          </span>
        ))}
    </span>
  );
}

function Pair({ field, before, after }: { field: string; before: unknown; after: unknown }) {
  return (
    <>
      {shown(field, before)} → {shown(field, after)}
    </>
  );
}

function shown(field: string, value: unknown): ComponentChildren {
  if (value === null || value === undefined || value === '') return 'none';
  if (field === 'owner_id' || field === 'assignee_id') return <OwnerName id={String(value)} />;
  return field.endsWith('_status') || field === 'label' ? words(String(value)) : Array.isArray(value) ? value.join(', ') : String(value);
}
