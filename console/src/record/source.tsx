import { href } from '../route';
import { isAdmin } from '../session';
import type { Setter } from '../types';
import { Time } from '../ui/basic';
import { toolName } from '../words';

/** Who set a value, and when; it leads to the call, for those who may see it. */
export function Source({ by, timed = true }: { by: Setter; timed?: boolean }) {
  const text = (
    <>
      {toolName(by.tool)}
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
