/** The parts of Settings: those of one client, and the screens of people, keys, the audit log and erasure. */
import { href, place } from '../route';
import { isAdmin, seesEveryClient } from '../session';

const TABS = [
  { path: '/settings', tab: '', name: 'General', needsAdmin: true },
  { path: '/settings', tab: 'statuses', name: 'Statuses' },
  { path: '/settings', tab: 'fields', name: 'Custom fields' },
  { path: '/team', name: 'Team' },
  { path: '/settings', tab: 'sign-in', name: 'Sign-in', needsAdmin: true, ofAll: true },
  { path: '/keys', name: 'Keys', needsAdmin: true },
  { path: '/audit', name: 'Audit log', needsAdmin: true },
  { path: '/erasure', name: 'Erasure', needsAdmin: true },
] as const;

/** The tabs that the person may see. */
export const tabs = () => TABS.filter((each) => (!('needsAdmin' in each) || isAdmin.value) && (!('ofAll' in each) || seesEveryClient.value));

/** The tab of `/settings` that the address names, as far as the person may see it. */
export function tabOfSettings(): string {
  const tab = place.value.query.get('tab') ?? '';
  return tab === '' && !isAdmin.value ? 'statuses' : tab;
}

export function SettingsTabs() {
  const screen = `/${place.value.path[0] ?? ''}`;
  // The client that Settings show; on other screens `of` is a filter.
  const of = screen === '/settings' ? (place.value.query.get('of') ?? '') : '';
  return (
    <nav class="tabs" aria-label="Parts of the settings">
      {tabs().map((each) => (
        <a
          key={each.name}
          href={href(each.path, 'tab' in each ? { of, tab: each.tab } : {})}
          aria-current={screen === each.path && (!('tab' in each) || each.tab === tabOfSettings()) ? 'page' : undefined}
        >
          {each.name}
        </a>
      ))}
    </nav>
  );
}
