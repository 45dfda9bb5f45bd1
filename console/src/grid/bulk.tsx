/** What can be done with the selected records. */
import { useState } from 'preact/hooks';
import { get } from '../api';
import type { AnyRecord } from '../kinds/kind';
import { useLoad } from '../load';
import { client } from '../route';
import type { Page, Status } from '../types';
import { Button, ProblemNote, Skeleton, StatusMark } from '../ui/basic';
import { Dialog, Entry, Popover } from '../ui/overlay';
import { changeToast, dismiss, toast, toastProblem } from '../ui/toast';
import { count, plural } from '../words';
import { MOST, setStatus, suppress, type StatusChange } from './changes';
import { pagesOf } from './pages';
import { Reasons } from './reasons';
import { countOf, type Rows } from './rows';
import { renew, select, type Selection } from './selection';
import type { View } from './view';

/** What is to be done with the records. */
interface Action<R> {
  says: string;
  run: (records: readonly R[]) => Promise<void>;
}

interface Props<R extends AnyRecord> {
  rows: Rows<R>;
  view: View;
  selection: Selection<R>;
}

export function Bulk<R extends AnyRecord>({ rows, view, selection }: Props<R>) {
  const { kind } = rows;
  const [asked, setAsked] = useState<Action<R> | null>(null);
  const statuses = useLoad(`statuses ${kind.many} ${client.value}`, (signal) => get<Page<Status>>(`/public/v2/statuses/${kind.many}`, { limit: '200' }, signal));
  const records = selection.records.value;
  const all = selection.all.value;
  if (!records.size) return null;
  const total = rows.counted;
  const more = total !== null && (total.count > records.size || !total.exact);
  const tell = (changes: readonly StatusChange[]) => renew(selection, new Map(changes.map((each) => [each.id, { [kind.status]: each.status ?? undefined }])));
  function start(action: Action<R>) {
    if (all) setAsked(action);
    else void action.run([...records.values()]);
  }
  return (
    <div class="bulk" role="toolbar" aria-label={`Selected ${kind.many}`}>
      <span>{all ? `All ${total ? `${total.exact ? '' : 'about '}${count(total.count)} ` : ''}${kind.many} that match` : `${plural(records.size, kind.one, kind.many)} selected`}</span>
      <Popover text="Set status">
        {(close) => (
          <div class="entries">
            {statuses.value?.data.map((each) => (
              <Entry
                key={each.name}
                onPick={() => {
                  close();
                  start({ says: `Set the status “${each.name.replace(/_/g, ' ')}”`, run: (of) => setStatus(rows, of, each.name, tell) });
                }}
              >
                <StatusMark status={each.name} />
              </Entry>
            ))}
          </div>
        )}
      </Popover>
      <Popover text="Do not contact" icon="ban">
        {(close) => (
          <div class="entries">
            <p class="faint">Put their {kind.listedAs[1]} on the do-not-contact list, because:</p>
            <Reasons
              pick={(reason) => {
                close();
                start({ says: `Put the ${kind.listedAs[1]} on the do-not-contact list`, run: (of) => suppress(kind, of, reason) });
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
      {asked && <ForAll rows={rows} view={view} action={asked} onClose={() => setAsked(null)} />}
    </div>
  );
}

/** Asks before all records that match are changed: how many they are, counted now. */
function ForAll<R extends AnyRecord>({ rows, view, action, onClose }: { rows: Rows<R>; view: View; action: Action<R>; onClose: () => void }) {
  const { kind } = rows;
  const counted = useLoad('count of a change', (signal) => countOf(kind, view, 'exact', signal));
  const total = counted.value?.count;
  async function run(most: number) {
    onClose();
    const id = toast(`Reading ${kind.many}…`, { stays: true });
    try {
      const found: R[] = [];
      // By id, so that what the change itself moves in the order of the view is met once.
      for await (const page of pagesOf(kind, { ...view, sort: 'id' })) {
        found.push(...page);
        changeToast(id, `Reading ${kind.many}: ${count(found.length)}…`);
        if (found.length > most) break;
      }
      dismiss(id);
      if (found.length > most) toast(`More ${kind.many} match than the ${count(most)} that you were asked about. Nothing was changed; try again.`, { bad: true });
      else await action.run(found);
    } catch (error) {
      dismiss(id);
      toastProblem(error);
    }
  }
  const shown = counted.problem;
  return (
    <Dialog title={action.says} onClose={onClose}>
      {shown && <ProblemNote problem={shown} />}
      {total === undefined && !shown && <Skeleton lines={2} />}
      {total !== undefined && total > MOST && (
        <p>
          {count(total)} {kind.many} match. One change reaches at most {count(MOST)}: narrow the view by a filter, or use the API.
        </p>
      )}
      {total !== undefined && total <= MOST && (
        <p>
          This reaches {plural(total, kind.one, kind.many)}: all that match the view now. It can be stopped while it runs, and undone from its message for some seconds.
        </p>
      )}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" disabled={total === undefined || total > MOST || total === 0} onClick={() => void run(total ?? 0)}>
          {total === undefined ? 'Go on' : `Change ${count(total)}`}
        </Button>
      </footer>
    </Dialog>
  );
}
