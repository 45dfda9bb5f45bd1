/** Why a value is as it is: what set it, and what came and did not win. */
import type { ComponentChildren } from 'preact';
import { memberName } from '../kinds/kind';
import type { Explained, Setter } from '../types';
import { Button } from '../ui/basic';
import { Dialog } from '../ui/overlay';
import { StatusMark } from '../ui/status';
import { count, longTime, plural } from '../words';
import { sentence } from './sentences';
import { Source } from './source';

interface Props {
  of: Explained;
  /** The value as the page shows it. */
  shown: ComponentChildren;
  onClose: () => void;
}

/** Opens the explanation of a value; it says how many values came without effect. */
export function WhyButton({ of, label, onClick }: { of: Explained; label: string; onClick: () => void }) {
  return (
    <button type="button" class="why-button" onClick={onClick}>
      {of.others_total > 0 ? plural(of.others_total, 'ignored value') : 'Source'}
      <span class="hidden"> of {label}</span>
    </button>
  );
}

export function Why({ of, shown, onClose }: Props) {
  const isStatus = of.field.endsWith('_status');
  return (
    <Dialog title={`${memberName(of.field)}: why this value`} wide onClose={onClose}>
      <section class="why">
        <h3>The present value</h3>
        <p class="value-of" dir="auto">
          {isStatus && typeof shown === 'string' && shown ? <StatusMark status={shown} /> : shown || 'None'}
        </p>
        {of.set_by ? <Event of={of.set_by} /> : <p class="faint">No event has set it: it follows from other values of the record, or from its creation.</p>}
      </section>
      <section class="why">
        <h3>{of.others_total ? 'Ignored values' : 'No other value'}</h3>
        <ol>
          {of.others.map((each, n) => (
            <li key={`${each.event.occurred_at} ${n}`}>
              <p class="value-of" dir="auto">
                {each.value === null ? 'No value' : isStatus ? <StatusMark status={each.value} /> : readable(each.value)}
              </p>
              <p dir="auto">{readable(each.reason)}</p>
              <Event of={each.event} />
            </li>
          ))}
        </ol>
        {of.others_total > of.others.length && <p class="faint">These are the newest of {count(of.others_total)}. “What happened” on the page lists all.</p>}
      </section>
      <footer>
        <Button onClick={onClose}>Close</Button>
      </footer>
    </Dialog>
  );
}

/** A text with its times as a person reads them. */
function readable(text: string): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z\b/g, longTime);
}

function Event({ of }: { of: Setter }) {
  const inferred = Object.entries(of.inferred ?? {}).map(([name, path]) => `${memberName(name)} from ${path}`);
  return (
    <p class="faint">
      {sentence(of.event)}, {longTime(of.occurred_at)}
      {of.received_at.slice(0, 16) !== of.occurred_at.slice(0, 16) && `, received ${longTime(of.received_at)}`}
      <br />
      <Source by={of} timed={false} />
      {inferred[0] && (
        <>
          <br />
          Read without a mapping: <bdi>{inferred.join(', ')}</bdi>
        </>
      )}
    </p>
  );
}
