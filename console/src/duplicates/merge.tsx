/** Two records side by side: which value of each field stays, which id stays, and the merge with its undo. */
import { useEffect, useState } from 'preact/hooks';
import { asProblem, call, type Problem } from '../api';
import { companies, companyName } from '../kinds/companies';
import { memberName, valueOf, type AnyRecord, type Kind } from '../kinds/kind';
import { useRead } from '../data';
import { Button, ProblemNote, Skeleton } from '../ui/basic';
import { Dialog } from '../ui/overlay';
import { StatusMark } from '../ui/status';
import { asClient } from '../ui/client-chip';
import { toast } from '../ui/toast';
import type { Merge, MergedField } from './types';

interface Props<R extends AnyRecord> {
  kind: Kind<R>;
  one: R;
  other: R;
  /** Their client, if it is not that of the scope. */
  of?: string | undefined;
  onClose: () => void;
  /** After the merge, with the id that stays and the one that is gone. */
  onMerged: (into: number, gone: number) => void;
  onUndone: (into: number, gone: number) => void;
}

/** A field as a request names it. */
function nameOf(field: MergedField): string {
  return field.custom ? `cf.${field.field}` : field.field;
}

export function MergeDialog<R extends AnyRecord>({ kind, one, other, of, onClose, onMerged, onUndone }: Props<R>) {
  const [into, setInto] = useState(one.id);
  const [chosen, setChosen] = useState<Record<string, number>>({});
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const gone = into === one.id ? other : one;
  const path = `${kind.api}/${into}/merge`;
  const preview = useRead(`merge ${kind.many} ${into} ${gone.id}`, async () => (await call<Merge>('POST', path, { ...asClient(of), body: { with: [gone.id] }, query: { dry_run: 'true' } })).data, { gcTime: 0 });
  const both = [one, other] as const;
  const fields = preview.data?.fields.filter((each) => both.some((record) => valueOf(kind, record, nameOf(each)) !== '')) ?? [];

  // What is chosen stays when the other id is kept.
  useEffect(() => {
    const open = fields.filter((each) => differs(kind, both, each));
    setChosen((old) => ({ ...Object.fromEntries(open.map((each) => [nameOf(each), each.from_id])), ...old }));
  }, [preview.data]);

  async function merge() {
    setBusy(true);
    setProblem(null);
    try {
      const { data: made } = await call<Merge>('POST', path, { ...asClient(of), body: { with: [gone.id], ...(Object.keys(chosen).length > 0 && { from_ids: chosen }) } });
      onClose();
      toast(`${kind.nameOf(gone)} (${gone.id}) is part of this ${kind.one} now.`, {
        undo: async () => {
          await call('POST', `${path}/${made.merge_id}/undo`, asClient(of));
          onUndone(into, gone.id);
        },
      });
      onMerged(into, gone.id);
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  }

  const shown = problem ?? preview.error;
  return (
    <Dialog title={`Merge two ${kind.many}`} wide onClose={onClose}>
      <p>
        Choose the value that stays where they differ. The history, the addresses and the links of both come together, and dates of emails and replies are those of both. It can be undone for 30
        days, or as the client’s settings say.
      </p>
      {shown && <ProblemNote problem={shown} {...(preview.error && { retry: preview.refetch })} />}
      {!preview.data && !shown && <Skeleton lines={8} wide={95} />}
      {preview.data && (
        <div class="scroll" tabIndex={0} role="region" aria-label="The two side by side">
          <table class="table sides-of">
            <thead>
              <tr>
                <th scope="col">Field</th>
                {both.map((each) => (
                  <th scope="col" key={each.id}>
                    <label class="choice">
                      <input type="radio" name="into" checked={into === each.id} onChange={() => setInto(each.id)} />
                      <span>Keep the id {each.id}</span>
                    </label>
                    <Button kind="quiet" onClick={() => setChosen(Object.fromEntries(fields.filter((field) => differs(kind, both, field)).map((field) => [nameOf(field), each.id])))}>
                      Take all values of {each.id}
                    </Button>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {fields.map((each) => (
                <Row key={nameOf(each)} kind={kind} both={both} field={each} from={chosen[nameOf(each)] ?? each.from_id} pick={(id) => setChosen({ ...chosen, [nameOf(each)]: id })} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" icon="merge" busy={busy} disabled={!preview.data || busy} onClick={() => void merge()}>
          Merge
        </Button>
      </footer>
    </Dialog>
  );
}

function differs<R extends AnyRecord>(kind: Kind<R>, both: readonly [R, R], field: MergedField): boolean {
  return valueOf(kind, both[0], nameOf(field)) !== valueOf(kind, both[1], nameOf(field));
}

interface RowProps<R extends AnyRecord> {
  kind: Kind<R>;
  both: readonly [R, R];
  field: MergedField;
  /** The record whose value stays. */
  from: number;
  pick: (id: number) => void;
}

function Row<R extends AnyRecord>({ kind, both, field, from, pick }: RowProps<R>) {
  const name = nameOf(field);
  const isOpen = differs(kind, both, field);
  return (
    <tr>
      <th scope="row">{memberName(name)}</th>
      {both.map((each) => {
        const value = <Value kind={kind} name={name} text={valueOf(kind, each, name)} />;
        return (
          <td key={each.id} class={isOpen && from === each.id ? 'new' : ''}>
            {isOpen ? (
              <label class="choice">
                <input type="radio" name={`of ${name}`} checked={from === each.id} onChange={() => pick(each.id)} />
                {value}
              </label>
            ) : (
              value
            )}
          </td>
        );
      })}
    </tr>
  );
}

function Value<R extends AnyRecord>({ kind, name, text }: { kind: Kind<R>; name: string; text: string }) {
  if (!text) return <span class="absent">None</span>;
  if (name === kind.status) return <StatusMark status={text} />;
  const company = name === 'company_id' ? companies.value.get(Number(text)) : undefined;
  return (
    <span class="text" dir="auto">
      {company ? companyName(company) : text}
    </span>
  );
}
