/** The title of the page. Another screen gets the focus on its heading and is announced. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { kept } from './kept';
import { client, place } from './route';
import { atMost } from './words';

/** What a screen reader says: the screen that was opened last. */
export const announced = signal('');
const addressOf = () => [client.value, ...place.value.path].join('/');
/** The address whose heading has had the focus; that of the first page is left to the browser. */
let shown = addressOf();

/** Name the page after its screen; `waiting`: what is to be done there, which a tab in the background shows. */
export function useTitle(name: string, waiting = 0): void {
  useEffect(() => {
    document.title = `${waiting ? `(${atMost(waiting)}) ` : ''}${name} · Touchbase`;
  }, [name, waiting]);
  const address = addressOf();
  useEffect(() => {
    if (address === shown) return;
    announced.value = name;
    const frame = requestAnimationFrame(() => {
      const heading = document.querySelector<HTMLElement>('#main h1');
      if (!heading) return; // it comes with what is read, and so does another name
      shown = address;
      // What the screen itself has put the focus on stays, and so does what Back brings.
      if (document.activeElement?.closest('#main *') || document.querySelector('dialog[open], :popover-open') || kept('focus')) return;
      heading.tabIndex = -1;
      heading.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(frame);
  }, [name, address]);
}
