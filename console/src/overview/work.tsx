/** What came in: the replies that wait, each number with its list. */
import { get } from '../api';
import { useRead } from '../data';
import { href, type Query } from '../route';
import { session } from '../session';
import type { Page, Schemas } from '../types';
import { LIST, useCounters, type Conversation } from '../replies/conversations';
import { ProblemNote } from '../ui/basic';
import { atMost, span } from '../words';

const NONE: Schemas['Counters'] = { open: 0, snoozed: 0, automatic: 0, unassigned: 0, mine: 0, unread: 0, tasks_due: 0, attention: 0 };

export function Work({ of }: { of: string }) {
  const { data, error } = useCounters(of, !of);
  // A client before its first webhook has no conversations.
  const isNew = error?.status === 404;
  const counters = isNew ? NONE : data;
  const query = { sort: 'waiting', limit: '1', ...(of && { client_id: of }) };
  const waiting = useRead(`${LIST} oldest ${of}`, (signal) => get<Page<Conversation>>(LIST, query, signal), { enabled: Boolean(counters?.open) });
  const since = waiting.data?.data[0]?.open_since;
  const isPerson = Boolean(session.value?.user);
  const figures: readonly (readonly [string, number | undefined, Query])[] = [
    ['open', counters?.open, {}],
    ...(isPerson ? ([['yours', counters?.mine, { state: 'mine' }], ['unassigned', counters?.unassigned, { state: 'unassigned' }]] as const) : []),
    ['snoozed', counters?.snoozed, { state: 'snoozed' }],
    ['automatic', counters?.automatic, { state: 'automatic' }],
  ];
  if (error && !isNew) return <ProblemNote problem={error} />;
  return (
    <section class="work" aria-labelledby="work" aria-busy={counters ? undefined : true}>
      <h2 id="work">Replies</h2>
      <ul>
        {figures.map(([name, number, query]) => (
          <li key={name}>
            <a href={href('/replies', query)}>
              <b>{number === undefined ? '\u00a0' : atMost(number)}</b> {name}
            </a>
          </li>
        ))}
        {counters?.tasks_due ? (
          <li>
            <a href={href('/tasks')}>
              <b>{atMost(counters.tasks_due)}</b> {counters.tasks_due === 1 ? 'task due' : 'tasks due'}
            </a>
          </li>
        ) : null}
        {since && counters?.open ? (
          <li>
            <a href={href('/replies', { sort: 'waiting' })}>
              the oldest waits <b>{span(Date.now() - Date.parse(since))}</b>
            </a>
          </li>
        ) : null}
      </ul>
    </section>
  );
}
