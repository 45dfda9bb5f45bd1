import { href } from '../route';
import { isAdmin } from '../session';
import type { Moment, Setter } from '../types';
import { Time } from '../ui/basic';
import { toolName } from '../words';

/** Who caused an event: a person by name, a key by name, a tool; `Mira, by import` where a job did it for her. */
export function actorName({ actor, tool }: Setter | Moment): string {
  if (actor.type === 'tool') return toolName(tool);
  const name = actor.name || (actor.type === 'user' ? 'A former person' : actor.type === 'key' ? `Key ${actor.id}` : '');
  const job = tool === 'import' ? 'import' : 'job';
  if (!name) return actor.via === 'job' ? toolName(tool) : 'API, without a key';
  return actor.via === 'job' ? `${name}, by ${job}` : actor.type === 'user' && actor.via === 'api' ? `${name}, by API` : name;
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
