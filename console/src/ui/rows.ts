/** A list of rows with buttons as one stop: Tab reaches the controls of one row, arrows go from row to row. */
import { useLayoutEffect, useRef } from 'preact/hooks';

const CONTROLS = 'a[href], button, select, input';
const controlsOf = (row: Element | undefined) => [...(row?.querySelectorAll<HTMLElement>(CONTROLS) ?? [])].filter((each) => !each.closest('[popover]'));

/** Props of the list, whose children are its rows. */
export function useRows<E extends HTMLElement>() {
  const ref = useRef<E>(null);
  const at = useRef(0);
  function show() {
    const rows = [...(ref.current?.children ?? [])];
    at.current = Math.max(0, Math.min(at.current, rows.length - 1));
    rows.forEach((row, n) => controlsOf(row).forEach((each) => (each.tabIndex = n === at.current ? 0 : -1)));
  }
  useLayoutEffect(show);
  const rowOf = (target: EventTarget | null) => [...(ref.current?.children ?? [])].findIndex((row) => row.contains(target as Node));
  return {
    ref,
    onFocusIn: (event: FocusEvent) => {
      at.current = rowOf(event.target);
      show();
    },
    onKeyDown: (event: KeyboardEvent) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const target = event.target as HTMLElement;
      if (!step || event.defaultPrevented || target.closest('[popover], select, input')) return;
      const next = controlsOf(ref.current?.children[at.current + step]);
      const same = next[Math.min(controlsOf(ref.current?.children[at.current]).indexOf(target), next.length - 1)];
      if (!same) return;
      event.preventDefault();
      event.stopPropagation(); // the screen's own arrows are for when the list has no focus
      same.focus();
    },
  };
}
