/** Long lists: only the rows in sight are on the page. */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

export interface Sizes {
  count: number;
  /** The height of a row; an estimate where rows are measured. */
  height: number;
  /** The height of the list's sticky head. */
  head?: number;
  /** Where the list was scrolled to when it was left. */
  from?: number | undefined;
}

/** Pixels of the highest element: Firefox draws none above 17 million, which are 440,000 rows. */
const HIGHEST = 16_000_000;

/** How many pixels of rows one pixel of the scrollbar stands for: more than one in a list that is higher than an element can be. */
export function scaleOf(count: number, height: number): number {
  return Math.max(1, (count * height) / HIGHEST);
}

/** The rows in sight; in a list that is higher than an element can be they stand `shift` pixels above their place among all rows. */
type Virtual = Virtualizer<HTMLElement, HTMLElement> & { pixels: number; shift: number };

/** Scroll until a row of a list, whose rows have one height, is in sight. */
export function reveal(virtual: Virtual, { count, height, head = 0 }: Sizes, index: number): void {
  const list = virtual.scrollElement;
  if (!list || index < 0) return;
  const [top, below] = [index * height, index * height + height + head - list.clientHeight];
  const offset = virtual.scrollOffset ?? 0;
  if (offset > top) list.scrollTop = top / scaleOf(count, height);
  else if (offset < below) list.scrollTop = Math.ceil(below / scaleOf(count, height));
}

export function useVirtual(list: RefObject<HTMLElement | null>, { count, height, head = 0, from = 0 }: Sizes): Virtual {
  const [, draw] = useState({});
  const scale = scaleOf(count, height);
  const [latest] = useState({ scale });
  latest.scale = scale;
  const options = {
    count,
    getScrollElement: () => list.current,
    estimateSize: () => height,
    scrollMargin: head,
    scrollPaddingStart: head,
    overscan: 6,
    initialOffset: from * scale,
    initialRect: { width: 0, height: innerHeight },
    scrollToFn: (offset: number, options: Parameters<typeof elementScroll>[1], of: Virtualizer<HTMLElement, HTMLElement>) => elementScroll(offset / scale, options, of),
    observeElementRect,
    observeElementOffset: (of: Virtualizer<HTMLElement, HTMLElement>, tell: (offset: number, isScrolling: boolean) => void) =>
      observeElementOffset(of, (offset, isScrolling) => {
        tell(offset * latest.scale, isScrolling);
        if (latest.scale > 1) draw({}); // the rows move with the scrollbar's pixels, and are to move with their own
      }),
    onChange: () => draw({}),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  virtual.setOptions(options);
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  useLayoutEffect(() => virtual.measure(), [height]);
  const [all, view] = [virtual.getTotalSize(), (virtual.scrollRect?.height ?? innerHeight) - head];
  const pixels = scale > 1 ? (all - view) / scale + view : all;
  return Object.assign(virtual, { pixels, shift: (virtual.scrollOffset ?? 0) * (1 - 1 / scale) });
}
