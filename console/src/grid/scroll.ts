/** Which rows of a long list are in sight. Rows have one height, so no row is measured and a million cost as much as ten. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Browsers draw no element that is higher than some 17 to 33 million pixels; a longer list scrolls faster than its bar. */
const HIGHEST = 8_000_000;
const MORE = 6;

export interface Sight {
  first: number;
  last: number;
  /** The height of the whole list on the page. */
  height: number;
  /** Where a row is drawn, from the top of the list. */
  top: (index: number) => number;
}

export function sightOf(scrolled: number, viewport: number, rows: number, rowHeight: number): Sight {
  const whole = rows * rowHeight;
  const height = Math.min(whole, HIGHEST);
  const factor = height > viewport ? (whole - viewport) / (height - viewport) : 1;
  const offset = scrolled * factor;
  const first = Math.max(0, Math.floor(offset / rowHeight) - MORE);
  const last = Math.min(rows - 1, Math.ceil((offset + viewport) / rowHeight) + MORE);
  return { first, last, height, top: (index) => index * rowHeight - offset + scrolled };
}

/** How far to scroll so that a row is in sight; `scrolled` if it is. `above` is covered by the list's head. */
export function scrollTo(index: number, scrolled: number, viewport: number, rows: number, rowHeight: number): number {
  const whole = rows * rowHeight;
  const height = Math.min(whole, HIGHEST);
  const factor = height > viewport ? (whole - viewport) / (height - viewport) : 1;
  const offset = scrolled * factor;
  if (index * rowHeight < offset) return (index * rowHeight) / factor;
  if ((index + 1) * rowHeight > offset + viewport) return ((index + 1) * rowHeight - viewport) / factor;
  return scrolled;
}

/** The scrolled distance and the height of an element, as they change. */
export function useScroll() {
  const ref = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState({ scrolled: 0, viewport: 800 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const read = () => setAt({ scrolled: element.scrollTop, viewport: element.clientHeight });
    const watch = new ResizeObserver(read);
    watch.observe(element);
    element.addEventListener('scroll', read, { passive: true });
    read();
    return () => {
      watch.disconnect();
      element.removeEventListener('scroll', read);
    };
  }, []);
  return { ref, ...at };
}
