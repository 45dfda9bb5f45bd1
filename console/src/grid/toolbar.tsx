/** Above the grid: search, filters, columns, views, export, and the call of the API. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useShortcuts } from '../keys';
import { columnsOf } from '../kinds/columns';
import { memberName, type AnyRecord, type Kind } from '../kinds/kind';
import { useGet } from '../data';
import { DENSITIES, density, setDensity } from '../density';
import { href } from '../route';
import { makeNew } from '../record/new';
import { canWrite, mayExport, session } from '../session';
import type { Page, Status } from '../types';
import { Button, Icon } from '../ui/basic';
import { copy, Dialog, Entry, Popover } from '../ui/overlay';
import { StatusMark } from '../ui/status';
import { later } from '../ui/later';
import { toast } from '../ui/toast';
import { count } from '../words';
import { notedHere } from '../record/notes';
import { usePeople } from '../replies/conversations';
import { FieldSearch } from './field-search';
import { NewFilter } from './new-filter';
import type { Rows } from './rows';
import { curlOf, current, inWords, show, type View } from './view';
import { ViewBar, Views } from './views';

const Export = later<{ kind: Kind<AnyRecord>; view: View; total: number | null; onClose: () => void }>(() => import('../more').then((all) => all.Export), true);

interface Props<R extends AnyRecord> {
  kind: Kind<R>;
  view: View;
}

export function Toolbar<R extends AnyRecord>({ kind, view, rows }: Props<R> & { rows: Rows<R> }) {
  const [curl, setCurl] = useState(false);
  const [exports, setExports] = useState(false);
  return (
    <div class="toolbar">
      <Search kind={kind} view={view} />
      <StatusFilter kind={kind} view={view} />
      <NewFilter kind={kind} />
      <div class="push" />
      <div class="tools">
        {canWrite.value && <Button kind="quiet" icon="plus" label={`New ${kind.one}`} onClick={() => makeNew(kind.one)}>New</Button>}
        <Views kind={kind} view={view} />
        <Button kind="quiet" icon="board" label={view.layout === 'board' ? 'Show as a table' : 'Show as a board'} onClick={() => show(kind, { ...current(kind), layout: view.layout === 'board' ? 'table' : 'board' })}>
          {view.layout === 'board' ? 'Table' : 'Board'}
        </Button>
        <Columns kind={kind} view={view} />
        <a class="button quiet" href={href('/duplicates', kind.many === 'companies' ? { of: 'companies' } : {})} aria-label={`Duplicates of ${kind.many}`} title={`Duplicates of ${kind.many}`}>
          <Icon name="merge" />
          <span>Duplicates</span>
        </a>
        {mayExport.value && <Button kind="quiet" icon="download" label="Export this view" onClick={() => setExports(true)}>Export</Button>}
        <Button kind="quiet" icon="code" label="The API call for this view" onClick={() => setCurl(true)}>API call</Button>
      </div>
      {exports && <Export kind={kind as unknown as Kind<AnyRecord>} view={view} total={rows.total?.count ?? null} onClose={() => setExports(false)} />}
      {curl && <Curl kind={kind} view={view} onClose={() => setCurl(false)} />}
      <Chips kind={kind} view={view} rows={rows} />
      <ViewBar kind={kind} view={view} />
    </div>
  );
}

function Search<R extends AnyRecord>({ kind, view }: Props<R>) {
  const [text, setText] = useState(view.q);
  const field = useRef<HTMLInputElement>(null);
  const sent = useRef(view.q);
  useEffect(() => {
    if (view.q !== sent.current) {
      setText(view.q);
      sent.current = view.q;
    }
  }, [view.q]);
  useEffect(() => {
    if (text === sent.current) return undefined;
    const timer = setTimeout(() => {
      sent.current = text;
      show(kind, { ...current(kind), q: text }, true);
    }, 120);
    return () => clearTimeout(timer);
  }, [text]);
  useShortcuts(() => [{ keys: '/', does: 'Search', group: kind.title, run: () => field.current?.focus() }]);
  return (
    <div class="search">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label={`Search ${kind.many}`}
        placeholder={kind.searches}
        value={text}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
    </div>
  );
}

function StatusFilter<R extends AnyRecord>({ kind, view }: Props<R>) {
  const loaded = useGet<Page<Status>>(`/public/v2/statuses/${kind.many}`, { limit: '200' });
  const name = `${kind.status}[in]`;
  const chosen = view.filters.find(([key]) => key === name)?.[1].split(',') ?? [];
  function pick(status: string) {
    const next = chosen.includes(status) ? chosen.filter((each) => each !== status) : [...chosen, status];
    const others = current(kind).filters.filter(([key]) => key !== name);
    show(kind, { ...current(kind), filters: next.length ? [...others, [name, next.join(',')]] : others });
  }
  return (
    <Popover text="Status" icon="filter">
      {() => (
        <div class="entries">
          {loaded.data?.data.map((each) => (
            <Entry key={each.name} chosen={chosen.includes(each.name)} note={count(each.records)} onPick={() => pick(each.name)}>
              <StatusMark status={each.name} />
            </Entry>
          ))}
          {loaded.error && <p class="faint">{loaded.error.message}</p>}
        </div>
      )}
    </Popover>
  );
}

function Columns<R extends AnyRecord>({ kind, view }: Props<R>) {
  function pick(key: string) {
    const now = current(kind);
    show(kind, { ...now, columns: now.columns.includes(key) ? now.columns.filter((each) => each !== key) : [...now.columns, key] }, true);
  }
  function pin(key: string) {
    const now = current(kind);
    show(kind, { ...now, columns: now.columns.includes(key) ? now.columns : [key, ...now.columns], pinned: now.pinned.includes(key) ? now.pinned.filter((each) => each !== key) : [...now.pinned, key] }, true);
  }
  return (
    <Popover text="Columns" label="Columns" icon="columns" kind="quiet">
      {() => (
        <FieldSearch kind={kind} own={kind.columns.slice(1).map((each) => each.key)} nameOf={(key) => kind.columns.find((each) => each.key === key)?.name ?? key} chosen={view.columns} pick={pick}>
          <p class="note heading">Rows</p>
          {DENSITIES.map(([value, text]) => <Entry key={value} chosen={density.value === value} onPick={() => setDensity(value)}>{text}</Entry>)}
          <p class="note heading">Stay in sight</p>
          {columnsOf(kind, view.columns, []).map((each) => (
            <Entry key={`pin ${each.key}`} chosen={view.pinned.includes(each.key)} onPick={() => pin(each.key)}>
              {each.name}
            </Entry>
          ))}
        </FieldSearch>
      )}
    </Popover>
  );
}

/** The filters of the view, each with its way out, and how many records there are. */
function Chips<R extends AnyRecord>({ kind, view, rows }: Props<R> & { rows: Rows<R> }) {
  const shown = rows.total;
  const keep = (filters: View['filters']) => show(kind, { ...current(kind), filters });
  const people = usePeople(notedHere(kind.many, 0).of);
  return (
    <div class="chips">
      <span class="total" aria-live="polite">
        {shown ? `${shown.exact ? '' : 'about '}${count(shown.count)} ${shown.count === 1 ? kind.one : kind.many}` : '\u00a0'}
      </span>
      {view.filters.map(([name, value]) => (
        <span key={name + value} class="chip">
          <span class="cut">
            {memberName(name)} <b>{inWords(name, name.startsWith('owner_id') ? (people.get(value) ?? value) : value)}</b>
          </span>
          <Button
            kind="quiet"
            icon="close"
            label={`Remove the filter ${memberName(name)}`}
            onClick={() => keep(current(kind).filters.filter((each) => each[0] !== name || each[1] !== value))}
          />
        </span>
      ))}
      {view.filters.length > 1 && (
        <Button kind="quiet" onClick={() => keep([])}>
          Remove all
        </Button>
      )}
    </div>
  );
}

function Curl<R extends AnyRecord>({ kind, view, onClose }: Props<R> & { onClose: () => void }) {
  const text = curlOf(kind, view, session.value?.keys_needed ?? false, location.origin);
  return (
    <Dialog title="The API call for this view" wide onClose={onClose}>
      <p>The console asks the same. Send <code>next_cursor</code> back as <code>cursor</code> for the next page.</p>
      <pre class="code" tabIndex={0} aria-label="Command">{text}</pre>
      <footer>
        <Button kind="main" icon="copy" onClick={() => void copy(text).then(() => toast('The call is copied.'))}>
          Copy
        </Button>
      </footer>
    </Dialog>
  );
}
