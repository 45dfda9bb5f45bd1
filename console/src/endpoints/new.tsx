/** Add an endpoint: a form that says what each kind is for. */
import { useState } from 'preact/hooks';
import { asProblem, Problem, post } from '../api';
import { chooseClient, go, href, place } from '../route';
import { seesEveryClient, showsAll } from '../session';
import { ClientList } from '../shell';
import { useTitle } from '../title';
import { Button, Icon, ProblemNote } from '../ui/basic';
import { toast } from '../ui/toast';
import { bodyOf, EMPTY, type Draft } from './draft';
import { EndpointFields } from './fields';
import { PreviewPanel } from './preview';
import { EndpointIcon, freshSecret } from './shown';
import { KIND_LESSONS, KIND_NAMES, OF_ALL, OF_ONE, SHARED, type Endpoint, type Kind } from './types';

const KINDS = Object.keys(KIND_NAMES) as Kind[];

/** A mistake of the form itself, which no request was made for. */
export function mistake(error: unknown): Problem {
  return error instanceof Problem || !(error instanceof Error) ? asProblem(error) : new Problem(0, 'form', error.message);
}

export function NewEndpoint() {
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, kind: KINDS.find((kind) => kind === place.value.query.get('kind')) ?? EMPTY.kind });
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [forAll, setForAll] = useState(showsAll.value);
  const isOfOne = OF_ONE.includes(draft.kind);
  const isForAll = draft.kind === 'audit' || (forAll && !isOfOne);
  const set = (changed: Partial<Draft>) => setDraft((old) => ({ ...old, ...changed }));
  useTitle('Add an endpoint');
  async function add(event: Event) {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      const made = await post<Endpoint>(isForAll ? OF_ALL : '/public/v2/webhook-endpoints', bodyOf(draft, true));
      if (made.secret) freshSecret.value = { id: made.id, secret: made.secret, until: undefined };
      toast('The endpoint is added. It gets the events from now on.');
      go(`/endpoints/${isForAll ? SHARED : ''}${made.id}`, {}, true);
    } catch (error) {
      setProblem(mistake(error));
      setBusy(false);
    }
  }
  return (
    <main id="main" class="screen outgoing">
      <a class="back" href={href('/endpoints')}>
        <Icon name="left" /> Endpoints
      </a>
      <form class="endpoint-form" onSubmit={(event) => void add(event)}>
        <h1>Add an endpoint</h1>
        <fieldset class="kinds">
          <legend>What should it do?</legend>
          {KINDS.filter((kind) => kind !== 'audit' || seesEveryClient.value).map((kind) => (
            <label key={kind} class={kind === draft.kind ? 'kind chosen' : 'kind'}>
              <input type="radio" name="kind" value={kind} checked={kind === draft.kind} onChange={() => set({ kind, types: [] })} />
              <EndpointIcon kind={kind} />
              <span>
                <b>{KIND_NAMES[kind]}</b>
                <span class="faint">{KIND_LESSONS[kind]}</span>
              </span>
            </label>
          ))}
        </fieldset>
        {seesEveryClient.value && draft.kind !== 'audit' && !isOfOne && (
          <label class="for-all">
            <input type="checkbox" checked={forAll} onChange={(event) => setForAll(event.currentTarget.checked)} />
            <span>
              For all clients <span class="faint">Later ones too; messages begin with the client’s name.</span>
            </span>
          </label>
        )}
        {showsAll.value && !isForAll ? (
          <section class="choose" aria-label="Choose a client">
            <p>{isOfOne ? `${KIND_NAMES[draft.kind]} writes through a connection of one client. Which one?` : 'It gets the events of one client. Which one?'}</p>
            <ClientList close={() => undefined} hasAll={false} pick={(id) => chooseClient(id, '/endpoints/new', { kind: draft.kind })} />
          </section>
        ) : (
          <>
            <EndpointFields draft={draft} set={set} problem={problem} isNew />
            {problem && <ProblemNote problem={problem} />}
            {draft.kind !== 'audit' && <PreviewPanel draft={draft} />}
            <footer class="form-foot">
              <Button type="submit" kind="main" busy={busy}>
                Add the endpoint
              </Button>
              <a class="button" href={href('/endpoints')}>
                Cancel
              </a>
            </footer>
          </>
        )}
      </form>
    </main>
  );
}
