/** The list of the records of a kind. */
import type { ComponentChild, ComponentChildren, ComponentType } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { columnsOf } from '../kinds/columns';
import type { AnyRecord, Kind } from '../kinds/kind';
import { href } from '../route';
import { canWrite } from '../session';
import { useTitle } from '../title';
import { Empty, LoadProblem } from '../ui/basic';
import { later } from '../ui/later';
import { Bulk } from './bulk';
import { Grid } from './grid';
import { useRows } from './rows';
import { newSelection, select } from './selection';
import { Toolbar } from './toolbar';
import { current, type View } from './view';

type AnyBoard = (props: { kind: unknown; view: View }) => ComponentChild;
const Board = later(() => import('../more').then((all) => all.Board as AnyBoard as ComponentType<Parameters<AnyBoard>[0]>), true);

interface Props<R extends AnyRecord> {
  kind: Kind<R>;
  /** What is shown while there is no record at all. */
  none: ComponentChildren;
}

export function Records<R extends AnyRecord>({ kind, none }: Props<R>) {
  const view = current(kind);
  const rows = useRows(kind, view);
  const selection = useMemo(() => newSelection<R>(), []);
  useTitle(kind.title);
  useEffect(() => select(selection, []), [rows.list]);
  const isEmpty = rows.isStarted && !rows.error && !rows.at(0) && rows.total?.count === 0;
  const all = view.q || view.filters.length ? <NothingFound kind={kind} /> : none;
  return (
    <main id="main" class="screen fixed">
      <h1 class="hidden">{kind.title}</h1>
      <Toolbar kind={kind} view={view} rows={rows} />
      <LoadProblem of={rows} />
      {view.layout === 'board' ? <Board kind={kind} view={view} /> : isEmpty ? all : <Grid rows={rows} view={view} columns={columnsOf(kind, view.columns, view.pinned)} selection={selection} selectable={canWrite.value} />}
      {canWrite.value && view.layout === 'table' && <Bulk rows={rows} view={view} selection={selection} />}
    </main>
  );
}

function NothingFound({ kind }: { kind: { one: string; many: string; path: string } }) {
  return (
    <Empty icon="search" title={`No ${kind.one} matches`}>
      <p>A word finds what begins with it: names, addresses and custom fields. All filters must hold.</p>
      <a class="button" href={href(kind.path)}>
        Show all {kind.many}
      </a>
    </Empty>
  );
}
