/** The way back to the list that a record was opened from, and to its neighbours there. */
import { effect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { useRows } from '../grid/rows';
import { viewOf } from '../grid/view';
import { keep, kept } from '../kept';
import { useShortcuts } from '../keys';
import type { AnyRecord, Kind } from '../kinds/kind';
import { client, go, href, place, type Query } from '../route';
import { Icon } from '../ui/basic';
import { count } from '../words';

type Listed = [string, string][];

/** The list that is on the page, or was when its record was opened. */
let last: { path: string; of: string; query: Listed } | null = null;
effect(() => {
  const [screen, item] = place.value.path;
  const isList = (screen === 'contacts' || screen === 'companies') && item === undefined;
  if (isList) last = { path: `/${screen}`, of: client.value, query: [...place.value.query] };
  else if (last && `/${screen}` !== last.path) last = null;
});

/** Return the query of the list that a record was opened from, which reload and Back keep. */
export function listOf(kind: { path: string }): Listed | undefined {
  return kept<Listed>('list') ?? (last?.path === kind.path && last.of === client.value ? last.query : undefined);
}

export function Walk<R extends AnyRecord>({ kind, id }: { kind: Kind<R>; id: string }) {
  const query = listOf(kind);
  useEffect(() => query && keep('list', query), []);
  return (
    <>
      <a class="back" href={href(kind.path, query)}>
        <Icon name="left" /> {kind.title}
      </a>
      {query && <Neighbours kind={kind} id={id} query={query} />}
    </>
  );
}

function Neighbours<R extends AnyRecord>({ kind, id, query }: { kind: Kind<R>; id: string; query: Query }) {
  const rows = useRows(kind, viewOf(kind, new URLSearchParams([...(query as Listed)])));
  const at = rows.indexOf(Number(id));
  const [previous, next] = [rows.at(at - 1), rows.at(at + 1)];
  useEffect(() => {
    if (at >= 0) rows.need(at - 1, Math.min(at + 1, rows.count - 1));
  }, [at, rows.count]);
  useShortcuts(() => [
    { keys: 'j', does: `Next ${kind.one} of the list`, group: kind.title, run: () => step('next') },
    { keys: 'k', does: `Previous ${kind.one} of the list`, group: kind.title, run: () => step('previous') },
  ]);
  if (at < 0) return null;
  const total = rows.total ? ` of ${rows.total.exact ? '' : 'about '}${count(rows.total.count)}` : '';
  return (
    <nav class="walk" aria-label={`${kind.title} of the list`}>
      <span class="faint">
        {count(at + 1)}
        {total}
      </span>
      <Step to={previous} rel="previous" keys="k" kind={kind} query={query} />
      <Step to={next} rel="next" keys="j" kind={kind} query={query} />
    </nav>
  );
}

/** Follow a link to a neighbour, if there is one. */
function step(rel: string): void {
  document.querySelector<HTMLElement>(`.walk a[rel=${rel}]`)?.click();
}

interface StepProps {
  to: AnyRecord | undefined;
  rel: 'previous' | 'next';
  keys: string;
  kind: { path: string; one: string };
  query: Query;
}

/** A walk is one step of the browser's history, so that Back leads to the list. */
function Step({ to, rel, keys, kind, query }: StepProps) {
  const icon = <Icon name={rel === 'next' ? 'right' : 'left'} />;
  const label = `${rel === 'next' ? 'Next' : 'Previous'} ${kind.one} (${keys})`;
  if (!to) return <span class="button quiet alone off">{icon}</span>;
  return (
    <a
      class="button quiet alone"
      rel={rel}
      href={href(`${kind.path}/${to.id}`)}
      aria-label={label}
      title={label}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        go(`${kind.path}/${to.id}`, {}, true);
        keep('list', query);
      }}
    >
      {icon}
    </a>
  );
}
