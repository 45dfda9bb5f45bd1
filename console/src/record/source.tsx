import { href } from '../route';
import { isAdmin, session } from '../session';
import type { Moment, Setter } from '../types';
import { Time } from '../ui/basic';
import { toolName } from '../words';

export const VIA: Readonly<Record<string, string>> = { console: 'console', api: 'API', mcp: 'MCP', cli: 'command line', job: 'job', webhook: 'webhook' };

/** Whoever needed no key. */
export function nobody(): string {
  return session.value?.keys_needed ? 'Without a key' : 'You on this machine';
}

/** Who caused an event: a person or key by name, a tool; `Mira, by import` where it was not in the console. */
export function actorName({ actor, tool }: Setter | Moment): string {
  if (actor.type === 'tool') return toolName(tool);
  const name = actor.name || (actor.type === 'user' ? 'A former person' : actor.type === 'key' ? `Key ${actor.id}` : nobody());
  const via = actor.via === 'job' && tool === 'import' ? 'import' : VIA[actor.via];
  // A key is used by the API, unless something else is said.
  return actor.via === 'console' || (actor.via === 'api' && actor.type !== 'user') ? name : `${name}, by ${via}`;
}

/** Who set a value, and when; it leads to the call, for those who may see it. */
export function Source({ by, timed = true }: { by: Setter | Moment; timed?: boolean }) {
  const text = (
    <>
      {actorName(by)}
      {by.campaign && `, ${by.campaign}`}
      {timed && (
        <>
          , <Time at={by.occurred_at} />
        </>
      )}
    </>
  );
  if (by.delivery_id === null || !isAdmin.value) return <span class="source">{text}</span>;
  return (
    <a class="source" href={href(`/webhooks/${by.delivery_id}`)}>
      {text}
    </a>
  );
}
