/** Why somebody must not be contacted, to choose from. */
import { Entry } from '../ui/overlay';

export const BECAUSE = {
  requested: 'they asked for it', unsubscribed: 'they unsubscribed', complained: 'they complained', competitor: 'they are a competitor', customer: 'they are a customer',
};

export function Reasons({ pick }: { pick: (reason: string) => void }) {
  return (
    <>
      {Object.entries(BECAUSE).map(([reason, text]) => (
        <Entry key={reason} onPick={() => pick(reason)}>
          {text}
        </Entry>
      ))}
    </>
  );
}
