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

export function useVirtual(list: RefObject<HTMLElement | null>, { count, height, head = 0, from = 0 }: Sizes): Virtualizer<HTMLElement, HTMLElement> {
  const [, draw] = useState({});
  const options = {
    count,
    getScrollElement: () => list.current,
    estimateSize: () => height,
    scrollMargin: head,
    scrollPaddingStart: head,
    overscan: 6,
    initialOffset: from,
    initialRect: { width: 0, height: innerHeight },
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => draw({}),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  virtual.setOptions(options);
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  useLayoutEffect(() => virtual.measure(), [height]);
  return virtual;
}
