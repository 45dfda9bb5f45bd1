/** Past erasures, newest first; one whose search goes on is followed. */
import { useEffect, useState } from 'preact/hooks';
import { asProblem, get, type Problem } from '../api';
import type { Page } from '../types';
import { Button, ProblemNote, Skeleton, Time } from '../ui/basic';
import { removedText, type ErasureRequest } from './types';

const AGAIN = 1_500;

export function PastErasures({ round }: { round: number }) {
  const [found, setFound] = useState<{ data: ErasureRequest[]; next: string | null } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  async function load(cursor: string | null, signal?: AbortSignal) {
    try {
      const page = await get<Page<ErasureRequest>>('/public/v2/erasures', { limit: '20', ...(cursor && { cursor }) }, signal);
      setFound((old) => ({ data: cursor && old ? [...old.data, ...page.data] : page.data, next: page.next_cursor }));
      setProblem(null);
    } catch (error) {
      if (!signal?.aborted) setProblem(asProblem(error));
    }
  }
  useEffect(() => {
    const abort = new AbortController();
    void load(null, abort.signal);
    return () => abort.abort();
  }, [round]);
  const goesOn = found?.data.some((each) => each.done_time === null) ?? false;
  useEffect(() => {
    if (!goesOn) return undefined;
    const timer = setTimeout(() => void load(null), AGAIN);
    return () => clearTimeout(timer);
  }, [found]);
  return (
    <section aria-labelledby="past">
      <h2 id="past">Past erasures</h2>
      {problem && <ProblemNote problem={problem} retry={() => void load(null)} />}
      {!found && !problem && <Skeleton lines={3} wide={80} />}
      {found?.data.length === 0 && <p class="faint">No person of this client was erased yet.</p>}
      {found && found.data.length > 0 && (
        <ol class="past">
          {found.data.map((each) => (
            <li key={each.id}>
              <span class="strong">Erasure {each.id}</span>
              <Time at={each.asked_time} as="ago" />
              <span class="removed">{removedText(each.removed)}</span>
              {each.searched_time === null ? (
                <span class="search-on">
                  <progress value={each.searched_share} max={1} aria-label={`Search of the inbox, erasure ${each.id}`} /> {Math.round(each.searched_share * 100)} % searched
                </span>
              ) : (
                <span class="faint">{each.done_time === null ? 'inbox searched, files of the store not cleaned yet' : 'inbox searched'}</span>
              )}
            </li>
          ))}
        </ol>
      )}
      {found?.next && <Button onClick={() => void load(found.next)}>Show older ones</Button>}
    </section>
  );
}
