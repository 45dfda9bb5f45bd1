/** The inbox: what tools sent, what was understood of it, and what was not. */
import { useEffect } from 'preact/hooks';
import { get, Problem } from '../api';
import { useShortcuts } from '../keys';
import { client, go, href, place } from '../route';
import { isAdmin } from '../session';
import { Empty } from '../ui/basic';
import { Calls } from './calls';
import { Detail } from './detail';
import { Problems } from './problems';
import { Refused } from './refused';

const TABS = [
  { key: '', name: 'Calls' },
  { key: 'problems', name: 'Problems' },
  { key: 'refused', name: 'Refused' },
] as const;

/** The filter of the inbox for the chosen client. */
export function ofClient(): Record<string, string> {
  return client.value ? { client: client.value } : {};
}

/** A list of the inbox; empty for a client that does not exist yet, as in open mode before its first call. */
export async function listed<T extends { data: unknown[] }>(path: string, query: Record<string, string>, none: T, signal?: AbortSignal): Promise<T> {
  try {
    return await get<T>(path, { ...ofClient(), ...query }, signal);
  } catch (error) {
    if (error instanceof Problem && error.body.errors?.some((each) => each.code === 'client_not_found')) return none;
    throw error;
  }
}

export function Inbox({ delivery }: { delivery: string }) {
  const tab = place.value.query.get('tab') ?? '';
  useEffect(() => {
    document.title = 'Inbox · Touchbase';
  }, []);
  useShortcuts(() => TABS.map((each, n) => ({ keys: String(n + 1), does: `Show ${each.name.toLowerCase()}`, group: 'Inbox', run: () => go('/inbox', { tab: each.key }) })));
  if (!isAdmin.value) {
    return (
      <main id="main" class="screen fixed">
        <Empty icon="inbox" whole title="The inbox needs an administrator’s key">
          <p>It shows the bodies that tools sent. Ask an administrator of this installation for a key with the scope “admin”, and sign in with it.</p>
        </Empty>
      </main>
    );
  }
  return (
    <main id="main" class="screen fixed">
      <h1 class="hidden">Inbox</h1>
      <div class={`inbox ${delivery ? 'open' : ''}`}>
        <div class="inbox-list">
          <nav class="tabs" aria-label="Parts of the inbox">
            {TABS.map((each) => (
              <a key={each.key} href={href('/inbox', { tab: each.key })} aria-current={tab === each.key ? 'page' : undefined}>
                {each.name}
              </a>
            ))}
          </nav>
          {tab === 'problems' ? <Problems chosen={delivery} /> : tab === 'refused' ? <Refused /> : <Calls chosen={delivery} />}
        </div>
        {delivery ? (
          <Detail key={delivery} id={delivery} />
        ) : (
          tab !== 'refused' && (
            <div class="inbox-detail none">
              <Empty icon="inbox" title="Choose a call">
                <p>You see the body as the tool sent it, and what it was understood to say.</p>
              </Empty>
            </div>
          )
        )}
      </div>
    </main>
  );
}
