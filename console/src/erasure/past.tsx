/** Past erasures, newest first; one whose search goes on is followed. */
import { usePages } from '../data';
import { Button, ProblemNote, Skeleton, Time } from '../ui/basic';
import { showsAll } from '../session';
import { ClientChip } from '../ui/client-chip';
import { removedText, type ErasureRequest } from './types';

const AGAIN = 1_500;

export function PastErasures() {
  const { data, error, hasMore, more, refetch } = usePages<ErasureRequest>(showsAll.value ? '/team/v1/erasures' : '/public/v2/erasures', { limit: '20' }, {
    refetchInterval: (pages) => (pages.some((page) => page.data.some((each) => each.done_time === null)) ? AGAIN : 0),
  });
  return (
    <section aria-labelledby="past">
      <h2 id="past">Past erasures</h2>
      {error && <ProblemNote problem={error} retry={refetch} />}
      {!data && !error && <Skeleton lines={3} wide={80} />}
      {data?.length === 0 && <p class="faint">No person{showsAll.value ? '' : ' of this client'} was erased yet.</p>}
      {data && data.length > 0 && (
        <ol class="past">
          {data.map((each) => (
            <li key={`${each.client_id} ${each.id}`}>
              <span class="strong">Erasure {each.id} <ClientChip of={each.client_id} /></span>
              <Time at={each.asked_time} as="ago" />
              <span class="removed">{removedText(each.removed)}</span>
              {each.searched_time === null ? (
                <span class="search-on">
                  <progress value={each.searched_share} max={1} aria-label={`Search of webhooks, erasure ${each.id}`} /> {Math.round(each.searched_share * 100)} % searched
                </span>
              ) : (
                <span class="faint">{each.done_time === null ? 'Webhooks searched, files of the store not cleaned yet' : 'Webhooks searched'}</span>
              )}
            </li>
          ))}
        </ol>
      )}
      {hasMore && <Button onClick={more}>Show older</Button>}
    </section>
  );
}
