/** The status over time, as one bar. */
import { useState } from 'preact/hooks';
import { get } from '../api';
import type { AnyRecord, Kind } from '../kinds/kind';
import { useLoad } from '../load';
import type { Explained, Page } from '../types';
import { hueOf } from '../ui/basic';
import { longTime, shortTime, span } from '../words';
import { Why, WhyButton } from './why';

interface Period {
  value: string | null;
  since: string;
  until: string | null;
}

interface Props<R extends AnyRecord> {
  kind: Kind<R>;
  record: R;
  explained: Explained | undefined;
}

export function StatusBar<R extends AnyRecord>({ kind, record, explained }: Props<R>) {
  const [why, setWhy] = useState(false);
  const loaded = useLoad(`status ${kind.many} ${record.id} ${record.updated_time}`, (signal) =>
    get<Page<Period>>(`${kind.api}/${record.id}/history`, { field: kind.status, limit: '50' }, signal),
  );
  const periods = (loaded.value?.data ?? []).filter((each) => each.value !== null).reverse();
  const now = Date.now();
  const first = periods[0];
  if (loaded.value && !first) return <p class="status-bar faint">It has had no status yet. {kind.one === 'contact' ? 'The first mail or reply sets one.' : 'A CRM, an import, a request or you set one.'}</p>;
  const begin = first ? new Date(first.since).getTime() : now;
  const length = Math.max(1, now - begin);
  return (
    <figure class="status-bar">
      <figcaption>
        <h2>Status over time</h2>
        {explained && (explained.set_by || explained.others_total > 0) && <WhyButton of={explained} label="Status" onClick={() => setWhy(true)} />}
        {why && explained && <Why of={explained} shown={kind.statusOf(record) ?? ''} onClose={() => setWhy(false)} />}
      </figcaption>
      <div class="bar" role="img" aria-busy={!loaded.value && !loaded.problem} aria-label={loaded.value ? periods.map((each) => `${each.value} from ${longTime(each.since)}`).join(', ') : 'On its way'}>
        {periods.map((each) => {
          const from = new Date(each.since).getTime();
          const to = each.until ? new Date(each.until).getTime() : now;
          return (
            <span
              key={each.since}
              class={`hue-${hueOf(each.value ?? '')}`}
              style={{ flexGrow: String(Math.max(0.04, (to - from) / length)) }}
              title={`${each.value}, ${longTime(each.since)} to ${each.until ? longTime(each.until) : 'now'} (${span(to - from)})`}
            >
              <span class="cut">{each.value?.replace(/_/g, ' ')}</span>
            </span>
          );
        })}
      </div>
      <div class="ends">
        <span>{first ? shortTime(first.since) : '\u00a0'}</span>
        <span>now</span>
      </div>
    </figure>
  );
}
