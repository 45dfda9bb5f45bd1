/** One endpoint: how it goes, its attempts, and its settings. */
import { useEffect, useState } from 'preact/hooks';
import { call, getForChange, post, type Problem } from '../api';
import { useShortcuts } from '../keys';
import { readAgain, useGet } from '../data';
import { go, href } from '../route';
import { useTitle } from '../title';
import { Button, Empty, Icon, ProblemNote, Skeleton, Time } from '../ui/basic';
import { choosesMine, differencesOf } from '../ui/conflict';
import { copy, Dialog } from '../ui/overlay';
import { toast, toastProblem } from '../ui/toast';
import { count, longTime, words } from '../words';
import { Attempts } from './attempts';
import { bodyOf, draftOf, type Draft } from './draft';
import { EndpointFields } from './fields';
import { mistake } from './new';
import { PreviewPanel } from './preview';
import { ReplayMenu } from './replay';
import { EndpointState, freshSecret, nameOf } from './shown';
import { KIND_NAMES, OF_ALL, SHARED, SIGNED, type Attempt, type Endpoint } from './types';

export function OneEndpoint({ id }: { id: string }) {
  const isShared = id.startsWith(SHARED);
  const path = isShared ? `${OF_ALL}/${encodeURIComponent(id.slice(SHARED.length))}` : `/public/v2/webhook-endpoints/${encodeURIComponent(id)}`;
  const loaded = useGet<Endpoint>(path);
  const one = loaded.data;
  useTitle(one ? nameOf(one) : 'Endpoint');
  // The secret is gone when the page is left.
  useEffect(() => () => void (freshSecret.value = null), []);
  const again = () => readAgain('/public/v2/webhook-endpoints', '/public/v2/webhook-attempts', OF_ALL, '/team/v1/webhook-attempts');
  if (loaded.error && !one) {
    return (
      <main id="main" class="screen fixed">
        {loaded.error.status === 404 || loaded.error.status === 422 ? (
          <Empty icon="outgoing" whole title="There is no such endpoint">
            <p>{loaded.error.message}</p>
            <a class="button" href={href('/endpoints')}>
              All endpoints
            </a>
          </Empty>
        ) : (
          <ProblemNote problem={loaded.error} retry={() => void loaded.refetch()} />
        )}
      </main>
    );
  }
  return (
    <main id="main" class="screen outgoing">
      <a class="back" href={href('/endpoints')}>
        <Icon name="left" /> Endpoints
      </a>
      {one ? <Head one={one} path={path} changed={again} /> : <div class="endpoint-head"><Skeleton lines={3} wide={50} /></div>}
      <div class="endpoint-body">
        <div>
          {one && <FreshSecret one={one} />}
          {one && <Attempts id={one.id} kind={one.kind} path={`/endpoints/${id}`} isShared={isShared} changed={again} />}
        </div>
        <aside aria-label="Settings">{one?.shared_id ? <Copy of={one.shared_id} /> : one ? <Settings key={one.updated_time} one={one} path={path} changed={again} /> : <Skeleton lines={10} wide={90} />}</aside>
      </div>
    </main>
  );
}

function Copy({ of }: { of: number }) {
  return (
    <section class="panel">
      <h2>Endpoint of all clients</h2>
      <p class="faint">This is the client’s part of it: its events, its order, its retries. Pause it to leave this client out.</p>
      <a class="button" href={href(`/endpoints/${SHARED}${of}`)}>
        Change it for all clients
      </a>
    </section>
  );
}

interface PartProps {
  one: Endpoint;
  path: string;
  changed: () => void;
}

function Head({ one, path, changed }: PartProps) {
  const [busy, setBusy] = useState(false);
  const { waiting = 0, failed = 0, failing_since_time: failing = null, last_delivered_time: last = null } = one.progress ?? {};
  const copies = one.copies;
  async function test() {
    setBusy(true);
    try {
      const made = await post<Attempt>(`${path}/test`);
      toast(made.outcome === 'delivered' ? `The test was delivered in ${Math.round(made.latency_ms)} ms.` : `The test was ${made.outcome}${made.status ? ` (${made.status})` : ''}: ${made.error || made.response_body || 'no reason given'}`, { bad: made.outcome !== 'delivered' });
      changed();
    } catch (error) {
      toastProblem(error);
    }
    setBusy(false);
  }
  async function pause(stops: boolean) {
    try {
      await (stops ? call('PATCH', path, { body: { disabled: true } }) : call('POST', `${path}/resume`));
      changed();
      toast(stops ? 'Nothing is sent until you resume it. Events wait while the log has them.' : 'It is sent to again; what waited goes first.', { undo: () => pause(!stops) });
    } catch (error) {
      toastProblem(error);
    }
  }
  const isActive = one.state === 'active';
  useShortcuts(() => [{ keys: 's', does: 'Send a test', group: 'Endpoints', run: () => document.querySelector<HTMLElement>('.send-test')?.click() }]);
  return (
    <header class="endpoint-head">
      <div class="who">
        <h1 dir="auto">{nameOf(one)}</h1>
        <p class="facts">
          <span>{KIND_NAMES[one.kind]}</span>
          <span class="cut">{one.url}</span>
        </p>
      </div>
      <div class="tools">
        <Button class="send-test" icon="outgoing" busy={busy} onClick={() => void test()}>
          Send a test
        </Button>
        <Button onClick={() => void pause(isActive)}>{isActive ? 'Pause' : 'Resume'}</Button>
        {one.clients === 'one' && <ReplayMenu path={path} changed={changed} />}
      </div>
      {one.state_reason && (
        <p class="stop">
          <Icon name="warning" />
          <span>{one.state_reason}</span>
        </p>
      )}
      <dl class="endpoint-facts">
        <div>
          <dt>State</dt>
          <dd>
            <EndpointState one={one} />
          </dd>
        </div>
        {copies ? (
          <>
            <div>
              <dt>Clients</dt>
              <dd>{count(copies.clients)}</dd>
            </div>
            <div>
              <dt>Paused or failing</dt>
              <dd class={copies.paused + copies.failing ? 'wrong' : ''}>{count(copies.paused + copies.disabled + copies.failing)}</dd>
            </div>
            <div>
              <dt>Failed</dt>
              <dd class={copies.failed ? 'wrong' : ''}>{count(copies.failed)}</dd>
            </div>
          </>
        ) : (
          <>
            <div>
              <dt>Waiting</dt>
              <dd>{count(waiting)}</dd>
            </div>
            <div>
              <dt>Failed</dt>
              <dd class={failed ? 'wrong' : ''}>{count(failed)}</dd>
            </div>
            <div>
              <dt>{failing ? 'Failing since' : 'Last success'}</dt>
              <dd>{failing ? <Time at={failing} as="ago" /> : last ? <Time at={last} as="ago" /> : 'none yet'}</dd>
            </div>
          </>
        )}
      </dl>
    </header>
  );
}

function FreshSecret({ one }: { one: Endpoint }) {
  const fresh = freshSecret.value;
  if (fresh?.id !== one.id) return null;
  return (
    <section class="fresh" aria-label="The secret">
      <p class="strong">The secret is shown only now</p>
      <p class="faint">
        Your program checks the signature of each request with it.
        {fresh.until && ` The secret before it signs too, until ${longTime(fresh.until)}.`}
      </p>
      <p class="copy-line">
        <code class="cut">{fresh.secret}</code>
        <Button icon="copy" label="Copy the secret" onClick={() => void copy(fresh.secret).then(() => toast('The secret is copied.'))} />
        <Button kind="quiet" icon="close" label="Hide the secret" onClick={() => (freshSecret.value = null)} />
      </p>
    </section>
  );
}

function Settings({ one, path, changed }: PartProps) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(one));
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [removing, setRemoving] = useState(false);
  const set = (more: Partial<Draft>) => setDraft((old) => ({ ...old, ...more }));
  async function save(event: Event) {
    event.preventDefault();
    setBusy(true);
    try {
      const before = bodyOf(draftOf(one), false);
      const mine = bodyOf(draft, false);
      const { data, unchanged } = await getForChange<Endpoint>(path);
      const present = bodyOf(draftOf(data), false);
      // What others have changed since the page was opened stays.
      const own = Object.fromEntries(Object.entries(mine).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));
      const differences = differencesOf(new Map(Object.entries(before)), new Map(Object.entries(own)), new Map(Object.entries(present)), words);
      if (differences.length && !(await choosesMine('Somebody changed the same settings', differences))) {
        setBusy(false);
        changed();
        return;
      }
      await call('PATCH', path, { body: own, headers: unchanged });
      setProblem(null);
      changed();
      // Slack's present address is not known here, so a new one cannot be undone.
      const undo = async () => {
        await call('PATCH', path, { body: Object.fromEntries(Object.keys(own).map((name) => [name, before[name]])) });
        changed();
      };
      toast('The settings are saved.', one.kind === 'slack' && draft.url ? {} : { undo });
    } catch (error) {
      setProblem(mistake(error));
    }
    setBusy(false);
  }
  async function rotate() {
    try {
      const made = await post<Endpoint>(`${path}/rotate-secret`, { overlap_hours: 24 });
      if (made.secret) freshSecret.value = { id: one.id, secret: made.secret, until: made.previous_secret_until_time };
      document.querySelector('#main')?.scrollTo({ top: 0 });
    } catch (error) {
      toastProblem(error);
    }
  }
  return (
    <form class="endpoint-form" onSubmit={(event) => void save(event)}>
      <h2>Settings</h2>
      <EndpointFields draft={draft} set={set} problem={problem} isNew={false} />
      {problem && <ProblemNote problem={problem} />}
      {one.kind !== 'webhook' && one.clients === 'one' && <PreviewPanel draft={draft} />}
      <footer class="form-foot">
        <Button type="submit" kind="main" busy={busy}>
          Save
        </Button>
        {SIGNED.includes(one.kind) && <Button onClick={() => void rotate()}>New secret…</Button>}
        <span class="push" />
        <Button kind="danger" onClick={() => setRemoving(true)}>
          Remove…
        </Button>
      </footer>
      {removing && <Remove one={one} path={path} close={() => setRemoving(false)} />}
    </form>
  );
}

function Remove({ one, path, close }: { one: Endpoint; path: string; close: () => void }) {
  async function remove() {
    try {
      await call('DELETE', path);
      toast('The endpoint is removed.');
      go('/endpoints', {}, true);
    } catch (error) {
      close();
      toastProblem(error);
    }
  }
  return (
    <Dialog title="Remove this endpoint?" onClose={close}>
      <p>
        <span class="strong" dir="auto">{nameOf(one)}</span> gets nothing more. Its attempts are removed, and {count(one.progress?.waiting ?? 0)} waiting events are not sent. It cannot be undone; to stop for a while, pause it.
      </p>
      <footer>
        <Button onClick={close}>Cancel</Button>
        <Button kind="danger" onClick={() => void remove()}>
          Remove
        </Button>
      </footer>
    </Dialog>
  );
}
