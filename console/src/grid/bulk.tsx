/** What can be done with the selected records. */
import { useState } from 'preact/hooks';
import type { AnyRecord } from '../kinds/kind';
import { useGet, useRead } from '../data';
import type { Page, Status } from '../types';
import { Button, ProblemNote, Skeleton } from '../ui/basic';
import { Dialog, Entry, Popover } from '../ui/overlay';
import { StatusMark } from '../ui/status';
import { count, plural, words } from '../words';
import { notedHere } from '../record/notes';
import { usePeople } from '../replies/conversations';
import { countAll, MOST, renewAll, setOwnerOfAll, setStatusOfAll, suppressAll, tryAll } from './all';
import { setMember, suppress, type MemberChange } from './changes';
import { Reasons } from './reasons';
import type { Rows } from './rows';
import { renew, select, type Selection } from './selection';
import type { View } from './view';

/** What is to be done with the records. */
type Action = { what: 'status'; status: string } | { what: 'owner'; owner: string | null; name: string } | { what: 'suppress'; reason: string };

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
  function start(action: Action) {
    if (all) setAsked(action);
    else if (action.what === 'status') void setMember(rows, [...records.values()], kind.status, action.status, words(action.status), tell(kind.status));
    else if (action.what === 'owner') void setMember(rows, [...records.values()], 'owner_id', action.owner, action.name, tell('owner_id'));
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
                    start({ what: 'owner', owner: id || null, name });
                  }}
                >
                  {name}
                </Entry>
              ))}
            </div>
          )}
        </Popover>
      )}
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

interface ForAllProps<R extends AnyRecord> extends Props<R> {
  action: Action;
  /** The client's statuses, for the way back. */
  known: readonly string[];
  onClose: () => void;
}

/** Asks before all records that match are changed: how many they are, counted now. */
function ForAll<R extends AnyRecord>({ rows, view, selection, action, known, onClose }: ForAllProps<R>) {
  const { kind } = rows;
  const tried = useRead('a change of all', (signal) => (action.what === 'suppress' ? countAll(kind, view, signal) : tryAll(kind, view, action.what === 'status' ? { [kind.status]: action.status } : { owner_id: action.owner }, signal)), { gcTime: 0 });
  const total = tried.data;
  function run(most: number) {
    onClose();
    if (action.what === 'status') void setStatusOfAll(rows, view, action.status, most, known, () => renewAll(rows, selection));
    else if (action.what === 'owner') void setOwnerOfAll(rows, view, action.owner, action.name, most, () => renewAll(rows, selection));
    else void suppressAll(kind, view, action.reason, most);
  }
  const isTooMany = total !== undefined && total > MOST;
  const says = action.what === 'status' ? `Set the status “${words(action.status)}”` : action.what === 'owner' ? `Set the owner “${action.name}”` : `Block the ${kind.listedAs[1]}`;
  return (
    <Dialog title={says} onClose={onClose}>
      {tried.error && <ProblemNote problem={tried.error} retry={() => void tried.refetch()} />}
      {total === undefined && !tried.error && <Skeleton lines={2} />}
      {isTooMany && (
        <p>
          {count(total)} {kind.many} match. One change reaches at most {count(MOST)}: narrow the view by a filter, or use the API.
        </p>
      )}
      {total !== undefined && !isTooMany && (
        <p>
          This reaches {plural(total, kind.one, kind.many)}: all that match the view now. If more match by then, nothing is changed. {action.what === 'owner' ? 'It cannot be undone.' : 'It can be undone from its message for some seconds.'}
        </p>
      )}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" disabled={!total || isTooMany} onClick={() => total && run(total)}>
          {total === undefined ? 'Go on' : `Change ${count(total)}`}
        </Button>
      </footer>
    </Dialog>
  );
}
