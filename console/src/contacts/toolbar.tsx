/** Above the grid: search, filters, columns, views, export, and the call of the API. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../api';
import { useShortcuts } from '../keys';
import { useLoad } from '../load';
import { client, href } from '../route';
import { session } from '../session';
import type { CustomField, Page, Status } from '../types';
import { Button, Icon, StatusMark } from '../ui/basic';
import { copy, Dialog, Entry, Popover } from '../ui/overlay';
import { toast } from '../ui/toast';
import { count } from '../words';
import { allColumns, fieldName } from './columns';
import { exportView } from './export';
import { NewFilter } from './new-filter';
import type { Rows } from './rows';
import { curlOf, current, inWords, show, viewOf, type View } from './view';

const VIEWS: readonly { name: string; query: Record<string, string> }[] = [
  { name: 'All contacts', query: {} },
  { name: 'Replied in the last 7 days', query: { 'last_reply_received[gte]': '7d', sort: '-last_reply_received' } },
  { name: 'Mailed, and no reply yet', query: { 'last_campaign_email_sent[is_set]': 'true', 'last_reply_received[is_set]': 'false', sort: '-last_campaign_email_sent' } },
  { name: 'Free to mail: not mailed for 30 days', query: { 'last_campaign_email_sent[lt]': '30d', sort: 'last_campaign_email_sent' } },
  { name: 'Never mailed', query: { 'first_campaign_email_sent[is_set]': 'false' } },
  { name: 'Without an e-mail address', query: { 'email[is_set]': 'false' } },
];

export function Toolbar({ view, rows }: { view: View; rows: Rows }) {
  const [curl, setCurl] = useState(false);
  const fields = useLoad(`fields ${client.value}`, (signal) => get<Page<CustomField>>('/public/v2/custom-fields/contacts', { limit: '200' }, signal));
  const custom = fields.value?.data.map((each) => each.name) ?? [];
  return (
    <div class="toolbar">
      <Search view={view} />
      <StatusFilter view={view} />
      <NewFilter custom={custom} />
      <div class="push" />
      <div class="tools">
        <Popover text="" label="Views" icon="views" kind="quiet">
          {(close) => (
            <div class="entries">
              {VIEWS.map((each) => (
                <a key={each.name} class="entry" href={href('/contacts', each.query)} onClick={close} aria-current={sameView(view, each.query) ? 'true' : undefined}>
                  <span class="tick">{sameView(view, each.query) && <Icon name="check" />}</span>
                  <span class="cut">{each.name}</span>
                </a>
              ))}
              <hr />
              <Entry
                icon="link"
                onPick={() => {
                  close();
                  void copy(location.href).then(() => toast('The address of this view is copied: filters, order and columns are in it.'));
                }}
              >
                Copy the address of this view
              </Entry>
          </div>
        )}
      </Popover>
      <Columns view={view} custom={custom} />
      <Button kind="quiet" icon="download" label="Export this view as CSV" onClick={() => void exportView(view)} />
      <Button kind="quiet" icon="code" label="The API call for this view" onClick={() => setCurl(true)} />
      </div>
      {curl && <Curl view={view} onClose={() => setCurl(false)} />}
      <Chips view={view} rows={rows} />
    </div>
  );
}

function sameView(view: View, query: Record<string, string>): boolean {
  const other = viewOf(new URLSearchParams(query));
  return !view.q && view.sort === other.sort && JSON.stringify(view.filters) === JSON.stringify(other.filters);
}

function Search({ view }: { view: View }) {
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
      show({ ...current(), q: text }, true);
    }, 120);
    return () => clearTimeout(timer);
  }, [text]);
  useShortcuts(() => [{ keys: '/', does: 'Search', group: 'Contacts', run: () => field.current?.focus() }]);
  return (
    <div class="search">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label="Search contacts"
        placeholder="Search names, addresses, companies"
        value={text}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
    </div>
  );
}

function StatusFilter({ view }: { view: View }) {
  const loaded = useLoad(`statuses ${client.value}`, (signal) => get<Page<Status>>('/public/v2/statuses/contacts', { limit: '200' }, signal));
  const name = 'contact_status[in]';
  const chosen = view.filters.find(([key]) => key === name)?.[1].split(',') ?? [];
  function pick(status: string) {
    const next = chosen.includes(status) ? chosen.filter((each) => each !== status) : [...chosen, status];
    const others = current().filters.filter(([key]) => key !== name);
    show({ ...current(), filters: next.length ? [...others, [name, next.join(',')]] : others });
  }
  return (
    <Popover text="Status" icon="filter">
      {() => (
        <div class="entries">
          {loaded.value?.data.map((each) => (
            <Entry key={each.name} chosen={chosen.includes(each.name)} note={count(each.records)} onPick={() => pick(each.name)}>
              <StatusMark status={each.name} />
            </Entry>
          ))}
          {loaded.problem && <p class="faint">{loaded.problem.message}</p>}
        </div>
      )}
    </Popover>
  );
}

function Columns({ view, custom }: { view: View; custom: readonly string[] }) {
  function pick(key: string) {
    const now = current();
    show({ ...now, columns: now.columns.includes(key) ? now.columns.filter((each) => each !== key) : [...now.columns, key] }, true);
  }
  return (
    <Popover text="" label="Columns" icon="columns" kind="quiet">
      {() => (
        <div class="entries">
          {allColumns(custom)
            .filter((each) => each.key !== 'name')
            .map((each) => (
              <Entry key={each.key} chosen={view.columns.includes(each.key)} note={each.key.startsWith('cf.') ? 'custom' : undefined} onPick={() => pick(each.key)}>
                {each.name}
              </Entry>
            ))}
        </div>
      )}
    </Popover>
  );
}

/** The filters of the view, each with its way out, and how many contacts there are. */
function Chips({ view, rows }: { view: View; rows: Rows }) {
  const total = rows.total.value;
  const shown = rows.isComplete ? { count: rows.known, exact: true } : total;
  return (
    <div class="chips">
      <span class="total" aria-live="polite">
        {shown ? `${shown.exact ? '' : 'about '}${count(shown.count)} ${shown.count === 1 ? 'contact' : 'contacts'}` : '\u00a0'}
      </span>
      {view.filters.map(([name, value]) => (
        <span key={name + value} class="chip">
          <span class="cut">
            {fieldName(name)} <b>{inWords(name, value)}</b>
          </span>
          <Button
            kind="quiet"
            icon="close"
            label={`Remove the filter ${fieldName(name)}`}
            onClick={() => show({ ...current(), filters: current().filters.filter((each) => each[0] !== name || each[1] !== value) })}
          />
        </span>
      ))}
      {view.filters.length > 1 && (
        <Button kind="quiet" onClick={() => show({ ...current(), filters: [] })}>
          Remove all
        </Button>
      )}
    </div>
  );
}

function Curl({ view, onClose }: { view: View; onClose: () => void }) {
  const text = curlOf(view, session.value?.keys_needed ?? false, location.origin);
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
