/** The user who looks after a record. Without users nobody can be chosen, and nothing is shown. */
import { useGet } from '../data';
import type { AnyRecord, Kind } from '../kinds/kind';
import { useShortcuts } from '../keys';
import { seesPeople, usePeople } from '../replies/conversations';
import { canWrite, session } from '../session';
import type { Page, Schemas } from '../types';
import { Entry, Popover } from '../ui/overlay';
import { toastProblem } from '../ui/toast';
import { change } from './change';

/** The name of a record's owner; nothing without one. */
export function OwnerName({ id }: { id: string | undefined }) {
  return <>{useNameOf(id)}</>;
}

/** The name of a user, also of a suspended one. */
function useNameOf(id: string | undefined): string {
  const found = useGet<Page<Schemas['UserOut']>>('/team/v1/users', { limit: '200' }, { enabled: id !== undefined && seesPeople.value });
  const user = found.data?.data.find((each) => each.id === id);
  if (!id) return '';
  return user ? `${user.name || user.email}${user.state === 'suspended' ? ' (suspended)' : ''}` : 'somebody else';
}

export function OwnerPick<R extends AnyRecord>({ kind, record, of }: { kind: Kind<R>; record: R; of: string }) {
  const people = usePeople(of);
  const owner = record.owner_id;
  const name = useNameOf(owner);
  useShortcuts(() => (!session.value?.user ? [] : [{ keys: 'a', does: 'Choose the owner', group: kind.title, run: () => document.querySelector<HTMLElement>('.record-head .owner')?.click() }]));
  if (!people.size) return null;
  if (!canWrite.value) return owner ? <span class="faint">{`Owner: ${name}`}</span> : null;
  function set(id: string, to: string) {
    if (id === (owner ?? '')) return;
    change(kind, record, { owner_id: id || null }, { owner_id: owner ?? null }, id ? `${to} is the owner.` : 'Nobody is the owner.').catch(toastProblem);
  }
  return (
    <Popover text={name || 'Owner'} label={`Owner: ${name || 'nobody'}`} class="owner">
      {(close) => (
        <div class="entries">
          {[...people, ['', 'Nobody'] as const].map(([id, to]) => (
            <Entry key={id} chosen={id === (owner ?? '')} onPick={() => (close(), set(id, to))}>
              {to}
            </Entry>
          ))}
        </div>
      )}
    </Popover>
  );
}
