/** The connections of a client: what each has, what is usual, and what is silent. */
import { useState } from 'preact/hooks';
import { call as send, get } from '../api';
import { useRead } from '../data';
import { go, href, place } from '../route';
import { Button, Empty, LoadProblem, Skeleton, Time } from '../ui/basic';
import { Confirm } from '../ui/confirm';
import { Dialog } from '../ui/overlay';
import { StatusMark } from '../ui/status';
import { toast } from '../ui/toast';
import { capital, longTime, plural, span } from '../words';
import { BLOCKLISTS } from '../endpoints/types';
import { ConnectionForm } from './connection-form';
import { Pushes } from './pushes';
import { connectionPath } from './requests';
import { LOADED } from './setting-table';
import { CHANNEL_NAMES, nameOf } from './tools';
import type { Connection, Silence } from './types';

type Opened = { what: What; of: Connection } | { what: 'add' } | null;
type What = 'change' | 'remove' | 'calls' | 'load' | 'pushes';

interface Props {
  id: string;
  connections: readonly Connection[];
  reload: () => void;
  canAdd: boolean;
}

/** The form of the connection that the address names: a link leads to its fields. */
function named(connections: readonly Connection[]): Opened {
  const name = place.value.query.get('connection');
  const of = connections.find(({ channel, tool }) => `${channel}/${tool}` === name);
  return of ? { what: 'change', of } : name ? { what: 'add' } : null;
}

export function Connections({ id, connections, reload, canAdd }: Props) {
  const [opened, setOpened] = useState<Opened>(() => named(connections));
  const close = () => setOpened(null);
  return (
    <section class="panel" aria-labelledby="connections">
      <header class="row">
        <h2 id="connections">Connections</h2>
        <span class="push" />
        {canAdd && (
          <Button icon="plus" onClick={() => setOpened({ what: 'add' })}>
            Add a connection
          </Button>
        )}
      </header>
      {connections.length === 0 ? (
        <Empty icon="link" title="No connection is needed">
          <p>Webhooks are read without one. A connection adds a secret, what a tool’s words mean, its time zone, and an alarm when its usual webhooks do not come.</p>
        </Empty>
      ) : (
        <ul class="lines">
          {connections.map((each) => (
            <li key={`${each.channel} ${each.tool}`}>
              <One of={each} id={id} open={(what) => setOpened({ what, of: each })} canChange={canAdd} />
            </li>
          ))}
        </ul>
      )}
      {opened?.what === 'add' && <ConnectionForm id={id} known={connections} onClose={close} onDone={reload} />}
      {opened?.what === 'change' && <ConnectionForm id={id} of={opened.of} known={connections} onClose={close} onDone={reload} />}
      {opened?.what === 'calls' && <Silences id={id} of={opened.of} onClose={close} />}
      {opened?.what === 'pushes' && <Pushes id={id} of={opened.of} onClose={close} />}
      {opened?.what === 'load' && (
        <Confirm
          title={`Load what ${nameOf(opened.of.channel, opened.of.tool)} knows from before?`}
          action="Load history"
          onClose={close}
          run={async () => {
            const job = (await send<{ id: number }>('POST', `${connectionPath(id, opened.of)}/load`)).data;
            toast(`Job ${job.id} loads it.`, { action: { text: 'Show it', run: () => go(`/imports/${job.id}`) } });
          }}
        >
          <p>Its leads, messages and replies come in at their own times, and its blocklist on the do-not-contact list. What its webhooks brought is not repeated. It can be cancelled.</p>
        </Confirm>
      )}
      {opened?.what === 'remove' && (
        <Confirm
          title={`Remove the connection of ${nameOf(opened.of.channel, opened.of.tool)}?`}
          action="Remove"
          danger
          onClose={close}
          run={async () => {
            await send('DELETE', connectionPath(id, opened.of));
            toast('The connection is removed.');
            reload();
          }}
        >
          <p>Its secrets, settings and past silences go. Its webhooks and the records stay, and later webhooks are read as without a connection: their sender needs no proof.</p>
        </Confirm>
      )}
    </section>
  );
}

function One({ of, id, open, canChange }: { of: Connection; id: string; open: (what: What) => void; canChange: boolean }) {
  const name = nameOf(of.channel, of.tool);
  const labels = Object.keys(of.settings.status_labels).length;
  const fields = Object.keys(of.settings.fields).length;
  return (
    <div class="line-of">
      <div class="what">
        <p>
          <b>{name}</b> <span class="faint">{CHANNEL_NAMES[of.channel]}</span>
        </p>
        <p class="faint">
          {of.secret === 'set' ? (of.secret_count > 1 ? `${of.secret_count} secrets` : 'Secret set') : 'No secret'}
          {labels > 0 && `, ${plural(labels, 'word')} mapped`}
          {fields > 0 && `, ${plural(fields, 'field')} declared`}
          {of.settings.time_zone && `, times of ${of.settings.time_zone}`}
          {of.access_token === 'set' && (of.fetching ? `, fetches records (${of.fetching.state})` : ', token set')}
        </p>
        {of.seen.length > 0 && <p class="faint">Known from: {of.seen.join(', ')}</p>}
        {of.fetching?.last_error && <p class="wrong">{capital(of.fetching.last_error)}</p>}
      </div>
      <div class="usual">
        <Usual of={of} />
      </div>
      <div class="tools">
        <a class="button" href={href(`/clients/${id}`, { words: `${of.channel}/${of.tool}` })}>
          Status mapping
        </a>
        <Button onClick={() => open('calls')} aria-label={`Activity of ${name}`}>
          Activity
        </Button>
        {canChange && (
          <>
            {of.access_token === 'set' && of.channel === 'email_campaign' && LOADED.includes(of.tool) && (
              <Button onClick={() => open('load')} aria-label={`Load the history of ${name}`}>
                Load history
              </Button>
            )}
            {of.access_token === 'set' && ((of.channel === 'email_campaign' && BLOCKLISTS.includes(of.tool)) || of.tool === 'hubspot') && (
              <Button onClick={() => open('pushes')} aria-label={`What ${name} has not taken`}>
                Not taken
              </Button>
            )}
            <Button onClick={() => open('change')} aria-label={`Change ${name}`}>
              Change
            </Button>
            <Button kind="danger" onClick={() => open('remove')} aria-label={`Remove ${name}`}>
              Remove
            </Button>
          </>
        )}
      </div>
    </div>
  );
}

/** What is usual of a connection, or since when it is silent, in a sentence. */
function Usual({ of }: { of: Connection }) {
  const calls = of.calls;
  if (!calls) return <span class="faint">No webhook since it was connected</span>;
  if (calls.silent_since_time) {
    return (
      <>
        <StatusMark status="silent" />
        <span class="faint">
          since <Time at={calls.silent_since_time} as="ago" />
        </span>
      </>
    );
  }
  return (
    <>
      <span>
        Last webhook <Time at={calls.last_time} as="ago" />
      </span>
      <span class="faint">{rate(calls.per_day, calls.usual_interval_seconds)}</span>
    </>
  );
}

function rate(perDay: number, seconds: number | null): string {
  const often = perDay >= 10 ? plural(Math.round(perDay), 'webhook') : perDay === 0 ? 'no webhook' : `${perDay.toFixed(1)} webhooks`;
  return `${often} a day${seconds ? `, now usually every ${span(seconds * 1000)}` : ''}`;
}

function Silences({ id, of, onClose }: { id: string; of: Connection; onClose: () => void }) {
  const loaded = useRead(connectionPath(id, of, '/silences'), (signal) => get<{ data: Silence[] }>(connectionPath(id, of, '/silences'), {}, signal));
  const all = loaded.data?.data ?? [];
  return (
    <Dialog title={`Webhooks of ${nameOf(of.channel, of.tool)}`} onClose={onClose}>
      <p class="usual-line">
        <Usual of={of} />
      </p>
      <p class="faint">
        {of.settings.silence_alarm
          ? 'A silence begins when so many of the usual webhooks of this hour and weekday are missing that it is no accident. Two weeks of webhooks are needed to know them.'
          : 'The alarm is turned off for this connection, so no silence is recognised.'}
      </p>
      <LoadProblem of={loaded} />
      {loaded.isFetching && !loaded.data && <Skeleton lines={3} />}
      {loaded.data && all.length === 0 && <p>It has never been silent.</p>}
      {all.length > 0 && (
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Last webhook before</th>
              <th scope="col">Lasted</th>
              <th scope="col">Usual then</th>
            </tr>
          </thead>
          <tbody>
            {all.map((each) => (
              <tr key={each.since_time}>
                <td>{longTime(each.since_time)}</td>
                <td>{each.ended_time ? span(new Date(each.ended_time).getTime() - new Date(each.since_time).getTime()) : 'until now'}</td>
                <td>{rate(each.calls_per_day, each.usual_interval_seconds)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Dialog>
  );
}
