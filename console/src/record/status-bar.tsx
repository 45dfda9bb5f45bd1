/** The status over time, as one bar. */
import { useState } from 'preact/hooks';
import type { AnyRecord, Kind } from '../kinds/kind';
import { useGet } from '../data';
import type { Explained, Page } from '../types';
import { hueOf } from '../ui/status';
import { longTime, shortTime, span, words } from '../words';
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
  const loaded = useGet<Page<Period>>(`${kind.api}/${record.id}/history`, { field: kind.status, limit: '50' });
  const periods = (loaded.data?.data ?? []).filter((each) => each.value !== null).reverse();
  const now = Date.now();
  const first = periods[0];
  if (loaded.data && !first) return <p class="status-bar faint">It has had no status yet. {kind.one === 'contact' ? 'The first email or reply sets one.' : 'A CRM, an import, a request or you set one.'}</p>;
  const begin = first ? new Date(first.since).getTime() : now;
  const length = Math.max(1, now - begin);
  return (
    <figure class="status-bar">
      <figcaption>
        <h2>Status over time</h2>
        {explained && (explained.set_by || explained.others_total > 0) && <WhyButton of={explained} label="Status" onClick={() => setWhy(true)} />}
        {why && explained && <Why of={explained} shown={kind.statusOf(record) ?? ''} onClose={() => setWhy(false)} />}
      </figcaption>
      <div class="bar" role="img" aria-busy={!loaded.data && !loaded.error} aria-label={loaded.data ? periods.map((each) => `${words(each.value ?? '')} from ${longTime(each.since)}`).join(', ') : 'On its way'}>
        {periods.map((each) => {
          const from = new Date(each.since).getTime();
          const to = each.until ? new Date(each.until).getTime() : now;
          return (
            <span
              key={each.since}
              class={`hue-${hueOf(each.value ?? '')}`}
              style={{ flexGrow: String(Math.max(0.04, (to - from) / length)) }}
              title={`${words(each.value ?? '')}, ${longTime(each.since)} to ${each.until ? longTime(each.until) : 'now'} (${span(to - from)})`}
            >
              <span class="cut">{words(each.value ?? '')}</span>
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
