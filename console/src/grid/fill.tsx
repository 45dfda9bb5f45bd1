/** A paste into cells of the grid: how many would change, which are refused, and the change of all of them at once. */
import { useEffect, useState } from 'preact/hooks';
import { call, get } from '../api';
import { memberName, valueOf, type AnyRecord, type Column, type Kind } from '../kinds/kind';
import { etagOf } from '../record/change';
import { bodyOf } from '../record/fields';
import { Button } from '../ui/basic';
import { Dialog } from '../ui/overlay';
import { toast, toastProblem } from '../ui/toast';
import { capital, count, plural } from '../words';
import { FLAT, isCut, isEditable } from './cells';
import type { Rows } from './rows';
import { rangeOf, type Selection } from './selection';

/** A block of cells as spreadsheets copy it: tabs between cells, quotes around what has tabs, quotes or line breaks. */
export function cellsOf(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of text.replace(/\r\n?/g, '\n').replace(/\n$/, '').matchAll(/(?:"((?:[^"]|"")*)"(?=[\t\n]|$)|([^\t\n]*))(\t|\n|$)/g)) {
    rows.at(-1)?.push(quoted === undefined ? (plain ?? '') : quoted.replace(/""/g, '"'));
    if (end === '\n') rows.push([]);
    else if (end === '') break;
  }
  return rows;
}

/** Records of one paste: those of one batch, which is one change. */
const MOST = 500;

interface Change<R> {
  record: R;
  /** By member, its value before and its new one. */
  cells: Map<string, { before: string; after: string }>;
}

interface BatchResult<R> {
  results: { status: number; record?: R; problem?: { detail: string } }[];
}

async function write<R extends AnyRecord>(kind: Kind<R>, all: readonly { record: R; values: readonly (readonly [string, string])[] }[], dryRun: boolean): Promise<BatchResult<R>['results']> {
  const custom = `${kind.one}_custom_fields_input`;
  const commands = all.map(({ record, values }) => {
    const bodies = values.map(([name, value]) => bodyOf(kind.one, name, value) as Record<string, unknown>);
    const fields = bodies.flatMap((each) => (each[custom] as object[] | undefined) ?? []);
    return { op: 'update', id: record.id, if_match: etagOf(record), body: { ...Object.assign({}, ...bodies), ...(fields.length && { [custom]: fields }) } };
  });
  const query: [string, string][] = [['structure', 'FLAT'], ...(dryRun ? [['dry_run', 'true'] as [string, string]] : [])];
  return (await call<BatchResult<R>>('POST', `${kind.api}/batch`, { query, body: { commands }, headers: { prefer: 'return=representation' } })).data.results;
}

/** A refusal without the place in the request's body. */
function inWords(detail: string): string {
  return detail.replace(/^\/body\/(\w+)\S*/, (_, name: string) => memberName(name));
}

interface FillProps<R extends AnyRecord> {
  rows: Rows<R>;
  columns: readonly Column<R>[];
  selection: Selection<R>;
  pasted: string;
}

/** Where a paste goes: a single value fills the range, a block begins at its first cell and repeats in a range of its multiple. */
function useTarget<R extends AnyRecord>({ rows, columns, selection, pasted: text }: FillProps<R>) {
  const [target, setTarget] = useState<{ changes: Change<R>[]; refused: string[]; left: number } | null>(null);
  useEffect(() => {
    async function prepare() {
      const { kind } = rows;
      const pasted = cellsOf(text);
      const range = rangeOf(selection);
      const [height, wide] = [pasted.length, Math.max(...pasted.map((each) => each.length))];
      const [tall, broad] = [range.rows[1] - range.rows[0] + 1, range.columns[1] - range.columns[0] + 1];
      const lines = Math.min(MOST, tall % height === 0 ? tall : height, rows.count - range.rows[0]);
      const across = columns.slice(range.columns[0], range.columns[0] + (broad % wide === 0 ? broad : wide));
      const cannot = across.filter((each) => !isEditable(kind, each));
      const found = await rows.read(range.rows[0], range.rows[0] + lines - 1);
      // What a list cuts is read whole, so that undoing brings all of it back.
      const changes: Change<R>[] = [];
      for (const [number, listed] of found.entries()) {
        const record = across.some((each) => isCut(valueOf(kind, listed, each.key))) ? await get<R>(`${kind.api}/${listed.id}`, FLAT) : listed;
        const cells = across.flatMap((column, place) => {
          const after = pasted[number % height]?.[place % wide]?.trim();
          const before = valueOf(kind, record, column.key);
          return after === undefined || cannot.includes(column) || after === before ? [] : [[column.key, { before, after }] as const];
        });
        if (cells.length) changes.push({ record, cells: new Map(cells) });
      }
      const refused = cannot.map((each) => `${each.name} cannot be edited here.`);
      if (changes.length) {
        const results = await write(kind, changes.map(({ record, cells }) => ({ record, values: [...cells].map(([name, { after }]) => [name, after] as const) })), true);
        for (const [number, { problem }] of results.entries()) if (problem) refused.push(`${kind.nameOf(changes[number]?.record as R)}: ${inWords(problem.detail)}`);
        changes.splice(0, changes.length, ...changes.filter((_, number) => !results[number]?.problem));
      }
      setTarget({ changes, refused, left: Math.max(tall, height) - lines });
    }
    prepare().catch((error: unknown) => {
      toastProblem(error);
      selection.pasted.value = null;
    });
  }, []);
  return target;
}

/** A paste on its way: a single cell is written at once; of more the person sees first how many, and which are refused. */
export function Fill<R extends AnyRecord>(props: FillProps<R>) {
  const { rows, selection } = props;
  const { kind } = rows;
  const target = useTarget(props);
  const close = () => void (selection.pasted.value = null);
  const cells = target?.changes.reduce((sum, each) => sum + each.cells.size, 0) ?? 0;
  const isSmall = target !== null && cells <= 1 && !target.refused.length && !target.left;
  useEffect(() => {
    if (isSmall) void apply();
  }, [isSmall]);

  async function apply() {
    close();
    const { changes = [] } = target ?? {};
    if (!changes.length) {
      toast('These values are there already.');
      return;
    }
    try {
      const results = await write(kind, changes.map(({ record, cells }) => ({ record, values: [...cells].map(([name, { after }]) => [name, after] as const) })), false);
      const done = results.flatMap(({ record }, number) => (record ? [{ record, change: changes[number] as Change<R> }] : []));
      rows.change(done.map(({ record }) => record));
      const back = () =>
        write(kind, done.map(({ record, change }) => ({ record, values: [...change.cells].map(([name, { before }]) => [name, before] as const) })), false).then((undone) => {
          rows.change(undone.flatMap(({ record }) => (record ? [record] : [])));
          tellRefused(undone, done.map(({ record }) => kind.nameOf(record)));
        });
      if (done.length) toast(`${plural(done.length, kind.one, kind.many)} changed.`, { undo: back });
      tellRefused(results, changes.map(({ record }) => kind.nameOf(record)));
    } catch (error) {
      toastProblem(error);
    }
  }

  function tellRefused(results: readonly { problem?: { detail: string } }[], names: readonly string[]) {
    const refused = results.flatMap(({ problem }, number) => (problem ? [`${names[number] ?? ''}: ${inWords(problem.detail)}`] : []));
    if (refused.length) toast(`Not changed: ${refused.slice(0, 3).join('; ')}${refused.length > 3 ? `; and ${refused.length - 3} more` : ''}`, { bad: true });
  }

  if (isSmall) return null;
  return (
    <Dialog title="Paste into cells" wide onClose={close}>
      {target === null && <p aria-busy="true">Counting…</p>}
      {target && (
        <>
          <p>
            {cells ? `${plural(cells, 'cell')} of ${plural(target.changes.length, kind.one, kind.many)} will change. It can be undone as one change.` : 'No cell would change.'}
            {target.left > 0 && ` ${plural(target.left, 'row')} more than a paste can fill (${count(MOST)}, to the end of the list) are left out.`}
          </p>
          {target.refused.length > 0 && (
            <details open>
              <summary>{plural(target.refused.length, 'refusal')}</summary>
              <ul class="refused">{target.refused.slice(0, 50).map((each) => <li key={each}>{each}</li>)}</ul>
            </details>
          )}
          <table class="preview">
            <thead>
              <tr>
                <th>{capital(kind.one)}</th>
                <th>Field</th>
                <th>Now</th>
                <th>Then</th>
              </tr>
            </thead>
            <tbody>
              {target.changes.slice(0, 8).flatMap(({ record, cells: of }) => [...of].map(([name, { before, after }]) => (
                <tr key={`${record.id} ${name}`}>
                  <td>{kind.nameOf(record)}</td>
                  <td>{memberName(name)}</td>
                  <td>{before}</td>
                  <td>{after}</td>
                </tr>
              )))}
            </tbody>
          </table>
        </>
      )}
      <footer>
        <Button onClick={close}>Cancel</Button>
        <Button kind="main" disabled={!cells} onClick={() => void apply()}>
          {cells ? `Change ${plural(cells, 'cell')}` : 'Change'}
        </Button>
      </footer>
    </Dialog>
  );
}
