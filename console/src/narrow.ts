/** Whether the page is as narrow as on a phone, and whether it is worked by touch. */
import { signal, type Signal } from '@preact/signals';

function matching(condition: string): Signal<boolean> {
  const query = matchMedia(condition);
  const matches = signal(query.matches);
  query.addEventListener('change', () => (matches.value = query.matches));
  return matches;
}

export const narrow = matching('(max-width: 720px)');
export const touch = matching('(pointer: coarse)');
