/** Other records that may be the same person or company: the same name in the same client, with a merge that can be undone. */
import { useState } from 'preact/hooks';
import { asProblem, get, post, type Problem } from '../api';
import { memberName, valueOf, type AnyRecord, type Kind } from '../kinds/kind';
import { useLoad } from '../load';
import { go, href } from '../route';
import { canWrite } from '../session';
import type { Page } from '../types';
import { Button, ProblemNote } from '../ui/basic';
import { Dialog } from '../ui/overlay';
import { toast } from '../ui/toast';

interface Merge {
  merge_id: number | null;
  fields: { field: string; value: string | number | null; from_id: number; before: string | number | null; custom: boolean }[];
}

interface Props<R extends AnyRecord> {
  kind: Kind<R>;
  record: R;
  reload: () => void;
}

export function Doubles<R extends AnyRecord>({ kind, record, reload }: Props<R>) {
  const named = kind.twins(record);
  const [other, setOther] = useState<R | null>(null);
  const loaded = useLoad(`doubles ${kind.many} ${record.id} ${record.updated_time}`, async (signal) => {
    if (!named) return [];
    const page = await get<Page<R>>(kind.api, { ...named, limit: '6', structure: 'FLAT' }, signal);
    return page.data.filter((each) => each.id !== record.id);
  });
  if (!loaded.value?.length) return null;
  return (
    <section class="doubles" aria-labelledby="doubles">
      <h2 id="doubles">Has the same name</h2>
      <ul>
        {loaded.value.map((each) => (
          <li key={each.id}>
            <a class="cut" href={href(`${kind.path}/${each.id}`)}>
              {kind.below(each) || kind.nameOf(each)}
            </a>
            {canWrite.value && <Button onClick={() => setOther(each)}>Merge…</Button>}
          </li>
        ))}
      </ul>
      {other && <MergeDialog kind={kind} record={record} other={other} onClose={() => setOther(null)} reload={reload} />}
    </section>
  );
}

function MergeDialog<R extends AnyRecord>({ kind, record, other, onClose, reload }: Props<R> & { other: R; onClose: () => void }) {
  const path = `${kind.api}/${record.id}/merge`;
  const preview = useLoad(`merge ${kind.many} ${record.id} ${other.id}`, () => post<Merge>(path, { with: [other.id] }, { dry_run: 'true' }));
  const [problem, setProblem] = useState<Problem | null>(null);
  async function merge() {
    try {
      const made = await post<Merge>(path, { with: [other.id] });
      onClose();
      toast(`${kind.nameOf(other)} (${other.id}) is part of this ${kind.one} now.`, {
        undo: async () => {
          await post(`${path}/${made.merge_id}/undo`);
          go(`${kind.path}/${other.id}`);
        },
      });
      reload();
    } catch (error) {
      setProblem(asProblem(error));
    }
  }
  const shown = problem ?? preview.problem;
  const of = (one: R, field: Merge['fields'][number]) => valueOf(kind, one, field.custom && !field.field.startsWith('cf.') ? `cf.${field.field}` : field.field);
  return (
    <Dialog title={`Merge two ${kind.many}`} wide onClose={onClose}>
      <p>
        The {kind.one} {other.id} ({kind.below(other) || kind.nameOf(other)}) becomes part of this one. Its history and its addresses move here. It can be undone for 30 days.
      </p>
      {shown && <ProblemNote problem={shown} />}
      <div class="scroll" tabIndex={0} role="region" aria-label="The two side by side">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">This one</th>
              <th scope="col">The other, {other.id}</th>
              <th scope="col">After the merge</th>
            </tr>
          </thead>
          <tbody>
            {preview.value?.fields.map((each) => (
              <tr key={each.field}>
                <th scope="row">{memberName(each.field)}</th>
                <Cell value={each.before} />
                <Cell value={of(other, each)} />
                <Cell value={each.value} isNew={each.value !== each.before} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" disabled={!preview.value} onClick={() => void merge()}>
          Merge
        </Button>
      </footer>
    </Dialog>
  );
}

function Cell({ value, isNew = false }: { value: string | number | null; isNew?: boolean }) {
  return (
    <td class={isNew ? 'new' : ''} dir="auto">
      {value === null || value === '' ? <span class="absent">–</span> : value}
    </td>
  );
}
