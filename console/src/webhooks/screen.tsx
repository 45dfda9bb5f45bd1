/** Received webhooks: what tools sent, what was recognised of it, and what was not. */
import { useShortcuts } from '../keys';
import { go, href, place } from '../route';
import { isAdmin } from '../session';
import { useTitle } from '../title';
import { Empty } from '../ui/basic';
import { Calls } from './calls';
import { Detail } from './detail';
import { Problems } from './problems';
import { Refused } from './refused';

const TABS = [
  { key: '', name: 'Received' },
  { key: 'problems', name: 'Problems' },
  { key: 'refused', name: 'Refused' },
] as const;

export function Webhooks({ delivery }: { delivery: string }) {
  const tab = place.value.query.get('tab') ?? '';
  useTitle('Webhooks');
  useShortcuts(() => TABS.map((each, n) => ({ keys: String(n + 1), does: `Show ${each.name.toLowerCase()}`, group: 'Webhooks', run: () => go('/webhooks', { tab: each.key }) })));
  if (!isAdmin.value) {
    return (
      <main id="main" class="screen fixed">
        <Empty icon="inbox" whole title="Webhooks need an administrator’s key">
          <p>They show the bodies that tools sent. Ask an administrator of this installation for a key with the scope “admin”, and sign in with it.</p>
        </Empty>
      </main>
    );
  }
  return (
    <main id="main" class="screen fixed">
      <h1 class="hidden">Webhooks</h1>
      <div class={`inbox ${delivery ? 'open' : ''}`}>
        <div class="inbox-list">
          <nav class="tabs" aria-label="Lists of webhooks">
            {TABS.map((each) => (
              <a key={each.key} href={href('/webhooks', { tab: each.key })} aria-current={tab === each.key ? 'page' : undefined}>
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
              <Empty icon="inbox" title="Choose a webhook">
                <p>You see the body as the tool sent it, and what was read from it.</p>
              </Empty>
            </div>
          )
        )}
      </div>
    </main>
  );
}
