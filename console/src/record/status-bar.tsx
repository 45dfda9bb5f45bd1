/** The status over time, as one bar. */
import { get } from '../api';
import { useLoad } from '../load';
import type { Contact, Page } from '../types';
import { hueOf } from '../ui/basic';
import { longTime, shortTime, span } from '../words';

interface Period {
  value: string | null;
  since: string;
  until: string | null;
}

export function StatusBar({ contact }: { contact: Contact }) {
  const loaded = useLoad(`status ${contact.id} ${contact.updated_time}`, (signal) =>
    get<Page<Period>>(`/public/v2/contacts/${contact.id}/history`, { field: 'contact_status', limit: '50' }, signal),
  );
  const periods = (loaded.value?.data ?? []).filter((each) => each.value !== null).reverse();
  const now = Date.now();
  const first = periods[0];
  if (loaded.value && !first) return <p class="status-bar faint">It has had no status yet. The first mail or reply sets one.</p>;
  const begin = first ? new Date(first.since).getTime() : now;
  const length = Math.max(1, now - begin);
  return (
    <figure class="status-bar">
      <figcaption>
        <h2>Status over time</h2>
      </figcaption>
      <div class="bar" role="img" aria-label={periods.map((each) => `${each.value} from ${longTime(each.since)}`).join(', ') || 'Loading'}>
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
