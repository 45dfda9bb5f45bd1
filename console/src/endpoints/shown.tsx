/** Name, icon, state and new secret of an endpoint, as every screen of endpoints shows them. */
import { signal } from '@preact/signals';
import { Icon } from '../ui/basic';
import { Mark } from '../ui/status';
import { toolName, words } from '../words';
import type { Endpoint, Kind } from './types';

/** The secret of an endpoint that was just made or changed: it is shown once, and nowhere stored. */
export const freshSecret = signal<{ id: number; secret: string; until: string | undefined } | null>(null);

export function nameOf(one: Endpoint): string {
  return one.description || (one.kind === 'email' ? one.to.join(', ') : one.kind === 'hubspot' ? 'Statuses to HubSpot' : one.kind === 'blocklist' ? `Blocklist of ${toolName(one.tool)}` : one.url);
}

export function EndpointIcon({ kind }: { kind: Kind }) {
  return <Icon name={kind === 'email' ? 'mail' : kind === 'slack' ? 'reply' : kind === 'hubspot' ? 'company' : kind === 'blocklist' ? 'ban' : 'code'} />;
}

const LOOKS = { active: ['green', 'won'], paused: ['amber', 'active'], disabled: ['grey', 'lost'] } as const;

/** The state, and whether it fails at the moment. */
export function EndpointState({ one }: { one: Endpoint }) {
  const fails = one.state === 'active' && one.progress?.failing_since_time != null;
  const [hue, group] = fails ? (['red', 'lost'] as const) : LOOKS[one.state];
  return (
    <Mark hue={hue} group={group}>
      {fails ? 'Failing' : words(one.state)}
    </Mark>
  );
}
