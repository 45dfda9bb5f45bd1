/** What can be done with the selected records. */
import { useState } from 'preact/hooks';
import { memberName, type AnyRecord, type Kind } from '../kinds/kind';
import { bodyOf } from '../record/fields';
import { useGet, useRead } from '../data';
import type { Page, Status } from '../types';
import { Button, LoadProblem, Skeleton } from '../ui/basic';
import { Dialog, Entry, Popover } from '../ui/overlay';
import { StatusMark } from '../ui/status';
import { count, plural, words } from '../words';
import { notedHere } from '../record/notes';
import { usePeople } from '../replies/conversations';
import { countAll, MOST, renewAll, setFieldOfAll, setStatusOfAll, tryAll, withAll } from './all';
import { useChoices } from './cells';
import { remove, setMember, suppress, type MemberChange } from './changes';
import { FieldSearch } from './field-search';
import { Reasons } from './reasons';
import { readRows, type Rows } from './rows';
import { toastProblem } from '../ui/toast';
import { renew, select, type Selection } from './selection';
import type { View } from './view';

/** What is to be done with the records. */
type Action = { what: 'status'; status: string } | { what: 'field'; member: string; value: string; name: string } | { what: 'suppress'; reason: string } | { what: 'delete' };

interface Props<R extends AnyRecord> {
  rows: Rows<R>;
  view: View;
  selection: Selection<R>;
}

export function Bulk<R extends AnyRecord>({ rows, view, selection }: Props<R>) {
  const { kind } = rows;
  const [asked, setAsked] = useState<Action | null>(null);
  const statuses = useGet<Page<Status>>(`/public/v2/statuses/${kind.many}`, { limit: '200' });
  const records = selection.records.value;
  const all = selection.all.value;
  if (!records.size) return null;
  const total = rows.total;
  const more = total !== null && (total.count > records.size || !total.exact);
  const people = usePeople(notedHere(kind.many, 0).of);
  const tell = (member: string) => (changes: readonly MemberChange[]) => renew(selection, new Map(changes.map((each) => [each.id, { [member]: each.value ?? undefined }])));
  /** The records with all their members: a row has those of its columns, and long texts in part. */
  const readWhole = (of: readonly { id: number }[]) => readRows(kind, of.map(({ id }) => id));
  function start(action: Action) {
    if (all || action.what === 'delete') setAsked(action);
    else if (action.what === 'status') void setMember(rows, [...records.values()], kind.status, action.status, words(action.status), tell(kind.status));
    else if (action.what === 'field') void readWhole([...records.values()]).then((whole) => setMember(rows, whole, action.member, action.value || null, action.name, tell(action.member)), toastProblem);
    else void suppress(kind, [...records.values()], action.reason);
  }
  return (
    <div class="bulk" role="toolbar" aria-label={`Selected ${kind.many}`}>
      <span>{all ? `All ${total ? `${total.exact ? '' : 'about '}${count(total.count)} ` : ''}${kind.many} that match` : `${plural(records.size, kind.one, kind.many)} selected`}</span>
      <Popover text="Set status" class="pick-status">
        {(close) => (
          <div class="entries">
            {statuses.data?.data.map((each) => (
              <Entry
                key={each.name}
                onPick={() => {
                  close();
                  start({ what: 'status', status: each.name });
                }}
              >
                <StatusMark status={each.name} />
              </Entry>
            ))}
          </div>
        )}
      </Popover>
      {people.size > 0 && (
        <Popover text="Set owner" class="pick-owner">
          {(close) => (
            <div class="entries">
              {[...people, ['', 'Nobody'] as const].map(([id, name]) => (
                <Entry
                  key={id}
                  onPick={() => {
                    close();
                    start({ what: 'field', member: 'owner_id', value: id, name });
                  }}
                >
                  {name}
                </Entry>
              ))}
            </div>
          )}
        </Popover>
      )}
      <Popover text="Edit field" icon="edit">
        {(close) => (
          <FieldForm
            kind={kind}
            pick={(member, value) => {
              close();
              start({ what: 'field', member, value, name: value || 'nothing' });
            }}
          />
        )}
      </Popover>
      <Popover text="Block" icon="ban">
        {(close) => (
          <div class="entries">
            <p class="faint">Block their {kind.listedAs[1]}, because:</p>
            <Reasons
              pick={(reason) => {
                close();
                start({ what: 'suppress', reason });
              }}
            />
          </div>
        )}
      </Popover>
      <Button kind="quiet" icon="erase" onClick={() => start({ what: 'delete' })}>
        Delete
      </Button>
      {!all && more && (
        <Button kind="quiet" icon="check" onClick={() => (selection.all.value = true)}>
          Select all that match
        </Button>
      )}
      <Button kind="quiet" onClick={() => select(selection, [])}>
        Clear
      </Button>
      {asked && <ForAll rows={rows} view={view} action={asked} known={statuses.data?.data.map((each) => each.name) ?? []} selection={selection} onClose={() => setAsked(null)} />}
    </div>
  );
}

/** A field of the selected records, and its new value. */
function FieldForm<R extends AnyRecord>({ kind, pick }: { kind: Kind<R>; pick: (member: string, value: string) => void }) {
  const [member, setMember] = useState('');
  const [value, setValue] = useState('');
  const choices = useChoices(kind, member);
  if (!member) return <FieldSearch kind={kind} own={kind.editable} pick={setMember} />;
  return (
    <form
      class="filter-form"
      onSubmit={(event) => {
        event.preventDefault();
        pick(member, value.trim());
      }}
    >
      <label>
        {memberName(member)}
        {choices ? (
          <select value={value} onChange={(event) => setValue(event.currentTarget.value)}>
            {choices.map(([each, name]) => <option key={each} value={each}>{name}</option>)}
          </select>
        ) : (
          <input type="text" dir="auto" value={value} placeholder="nothing: remove the values" onInput={(event) => setValue(event.currentTarget.value)} />
        )}
      </label>
      <Button type="submit" kind="main">
        Set
      </Button>
    </form>
  );
}

interface ForAllProps<R extends AnyRecord> extends Props<R> {
  action: Action;
  /** The client's statuses, for the way back. */
  known: readonly string[];
  onClose: () => void;
}

/** Asks before all records that match are changed: how many they are, counted now. */
function ForAll<R extends AnyRecord>({ rows, view, selection, action, known, onClose }: ForAllProps<R>) {
  const { kind } = rows;
  const chosen = selection.all.value ? null : [...selection.records.value.values()];
  const body = action.what === 'status' ? { [kind.status]: action.status } : action.what === 'field' ? bodyOf(kind.one, action.member, action.value) : null;
  const tried = useRead('a change of all', async (signal) => chosen?.length ?? (body ? tryAll(kind, view, body, signal) : countAll(kind, view, signal)), { gcTime: 0 });
  const total = tried.data;
  function run(most: number) {
    onClose();
    if (action.what === 'status') void setStatusOfAll(rows, view, action.status, most, known, () => renewAll(rows, selection));
    else if (action.what === 'field') void setFieldOfAll(rows, view, action.member, action.value, action.name, most, () => renewAll(rows, selection));
    else if (action.what === 'suppress') void withAll(kind, view, kind.one === 'contact' ? 'email' : 'domain', most, (records) => suppress(kind, records, action.reason));
    else {
      select(selection, []);
      void (chosen ? remove(kind, chosen) : withAll(kind, view, 'id', most, (records) => remove(kind, records)));
    }
  }
  const isTooMany = total !== undefined && total > MOST;
  const says = action.what === 'status' ? `Set the status “${words(action.status)}”` : action.what === 'field' ? `Set ${memberName(action.member)} to “${action.name}”` : action.what === 'delete' ? `Delete ${kind.many}` : `Block the ${kind.listedAs[1]}`;
  return (
    <Dialog title={says} onClose={onClose}>
      <LoadProblem of={tried} />
      {total === undefined && !tried.error && <Skeleton lines={2} />}
      {isTooMany && (
        <p>
          {count(total)} {kind.many} match. One change reaches at most {count(MOST)}: narrow the view by a filter, or use the API.
        </p>
      )}
      {total !== undefined && !isTooMany && (
        <p>
          This reaches {plural(total, kind.one, kind.many)}{chosen ? ': those that are selected.' : ': all that match the view now. If more match by then, nothing is changed.'}{' '}
          {action.what === 'field' || action.what === 'delete' ? 'It can be reverted in History.' : 'It can be undone from its message for some seconds.'}
        </p>
      )}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" disabled={!total || isTooMany} onClick={() => total && run(total)}>
          {total === undefined ? 'Go on' : `${action.what === 'delete' ? 'Delete' : 'Change'} ${count(total)}`}
        </Button>
      </footer>
    </Dialog>
  );
}
