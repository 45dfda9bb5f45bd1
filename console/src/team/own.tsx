/** What belongs to one person: sessions and personal keys; of oneself, or for an administrator of somebody else. */
import { useState } from 'preact/hooks';
import { call as send } from '../api';
import { NewKey } from '../api-keys/dialogs';
import { SCOPES, type Key } from '../api-keys/types';
import { useGet } from '../data';
import { clients } from '../session';
import type { Schemas } from '../types';
import { Button, LoadProblem, Time } from '../ui/basic';
import { StatusMark } from '../ui/status';
import { toast, toastProblem } from '../ui/toast';
import { longTime } from '../words';

type SignedIn = Schemas['SessionOut'];

interface OfProps {
  /** The person; empty: oneself. */
  of: string;
}

const named = (of: string): Record<string, string> => (of ? { user_id: of } : {});

/** Where the person is signed in. */
export function Sessions({ of }: OfProps) {
  const loaded = useGet<{ data: SignedIn[] }>('/team/v1/sessions', named(of));
  const all = of ? 'Sign out everywhere' : 'Sign out everywhere else';
  const listed = loaded.data?.data ?? [];
  async function end(path: string, said: string) {
    await send('DELETE', path);
    toast(said);
    void loaded.refetch();
  }
  return (
    <section class="sessions" aria-labelledby="sessions">
      <header class="screen-head">
        <h2 id="sessions">{of ? 'Sessions' : 'Where you are signed in'}</h2>
        <span class="push" />
        {listed.length > (of ? 0 : 1) && (
          <Button kind="danger" onClick={() => end(of ? `/team/v1/sessions?user_id=${of}` : '/team/v1/sessions', 'The sessions have ended.').catch(toastProblem)}>
            {all}
          </Button>
        )}
      </header>
      <LoadProblem of={loaded} />
      {loaded.data && !listed.length && <p class="faint">Signed in nowhere.</p>}
      <ul class="lines" aria-label="Sessions">
        {listed.map((each) => (
          <li key={each.id} class="line-of">
            <div class="what">
              <b>{browserOf(each.user_agent)}</b>
              <span class="faint cut" title={each.user_agent}>
                {each.address}
              </span>
            </div>
            <div class="what">
              <span>{each.is_current ? 'This browser' : <>Used <Time at={each.last_seen_time} as="ago" /></>}</span>
              <span class="faint">
                Since <Time at={each.created_time} />
              </span>
            </div>
            <div class="tools">
              {!each.is_current && (
                <Button aria-label={`End the session of ${browserOf(each.user_agent)}`} onClick={() => end(`/team/v1/sessions/${each.id}`, 'The session has ended.').catch(toastProblem)}>
                  End
                </Button>
              )}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

const BROWSERS = [['Edg/', 'Edge'], ['OPR/', 'Opera'], ['Firefox/', 'Firefox'], ['Chrome/', 'Chrome'], ['Safari/', 'Safari']] as const;
const SYSTEMS = [['Android', 'Android'], ['iPhone', 'iPhone'], ['iPad', 'iPad'], ['Windows', 'Windows'], ['Mac OS', 'macOS'], ['Linux', 'Linux']] as const;

/** `Firefox on Linux`, as far as the browser names itself. */
function browserOf(agent: string): string {
  const browser = BROWSERS.find(([mark]) => agent.includes(mark))?.[1] ?? 'A browser';
  const system = SYSTEMS.find(([mark]) => agent.includes(mark))?.[1];
  return system ? `${browser} on ${system}` : browser;
}

/** Keys that the person made; those that have ended are left out. */
export function PersonalKeys({ of }: OfProps) {
  const loaded = useGet<{ data: Key[] }>('/team/v1/keys', named(of));
  const [creates, setCreates] = useState(false);
  const listed = (loaded.data?.data ?? []).filter((each) => each.state === 'active');
  const clientOf = (id: string | null) => (id === null ? 'All clients' : clients.value.find((each) => each.client_id === id)?.name || id || 'A removed client');

  async function revoke(key: Key) {
    await send('DELETE', `/team/v1/keys/${key.key_id}`);
    toast('The key is revoked.');
    void loaded.refetch();
  }

  return (
    <section aria-labelledby="personal-keys">
      <header class="screen-head">
        <h2 id="personal-keys">Personal keys</h2>
        <span class="push" />
        {!of && (
          <Button icon="plus" onClick={() => setCreates(true)}>
            New personal key
          </Button>
        )}
      </header>
      <LoadProblem of={loaded} />
      {loaded.data && !listed.length && <p class="faint">{of ? 'No personal key.' : 'No key yet. A key lets a program or an agent act as you, with no more than you may do.'}</p>}
      <ul class="lines" aria-label="Personal keys">
        {listed.map((each) => (
          <li key={each.key_id} class="line-of">
            <div class="what">
              <b dir="auto">{each.name}</b>
              <span class="faint">
                {each.prefix}… {clientOf(each.client_id)}; {each.scopes.map((one) => SCOPES.find(([scope]) => scope === one)?.[1].toLowerCase() ?? one).join(', ')}
              </span>
            </div>
            <div class="what">
              <span class="line-marks">
                <StatusMark status={each.state} />
              </span>
              <span class="faint">
                {each.last_used_time ? (
                  <>
                    Last used <Time at={each.last_used_time} as="ago" />
                  </>
                ) : (
                  'Never used'
                )}
                {each.expires_time ? `, ends ${longTime(each.expires_time)}` : ''}
              </span>
            </div>
            <div class="tools">
              <Button kind="danger" aria-label={`Revoke ${each.name}`} onClick={() => revoke(each).catch(toastProblem)}>
                Revoke
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {creates && <NewKey client="" personal onClose={() => setCreates(false)} onDone={() => void loaded.refetch()} />}
    </section>
  );
}
