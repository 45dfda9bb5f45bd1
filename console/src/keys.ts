/** Keyboard shortcuts. A screen adds its own while it is shown; `?` lists all. */
import { signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';

export interface Shortcut {
  /** Such as `j`, `g c` or `mod+k`. */
  keys: string;
  does: string;
  group: string;
  run: () => void;
}

export const shortcuts = signal<readonly Shortcut[]>([]);
let before = '';
let timer: ReturnType<typeof setTimeout> | undefined;

/** Have shortcuts while a component is shown, from the moment it is drawn. `of` is called once; what runs should read the present state by itself. */
export function useShortcuts(of: () => Shortcut[]): void {
  useLayoutEffect(() => {
    const added = of();
    shortcuts.value = [...shortcuts.value, ...added];
    return () => {
      shortcuts.value = shortcuts.value.filter((each) => !added.includes(each));
    };
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));
}

addEventListener('keydown', (event) => {
  const mod = event.metaKey || event.ctrlKey;
  if (event.altKey || event.isComposing) return;
  const key = event.key === ' ' ? 'Space' : event.key;
  const typing = isTyping(event.target) && !(event.target instanceof HTMLInputElement && event.target.type === 'checkbox');
  if (typing && !mod) return;
  // Enter and space are the button's or the link's own.
  if ((key === 'Enter' || key === 'Space') && event.target instanceof Element && event.target.closest('button, a, summary, [role=button]')) return;
  // Keys are an open panel's own: Escape closes it, letters and arrows go to its entries.
  if (!mod && document.querySelector(':popover-open')) return;
  const inDialog = document.querySelector('dialog[open]') !== null;
  const pressed = mod ? `mod+${key.toLowerCase()}` : event.shiftKey && key.startsWith('Arrow') ? `Shift+${key}` : key;
  const all = shortcuts.value;
  // What Shift makes of a digit differs from keyboard to keyboard, so these keys go by their place.
  const digit = event.shiftKey ? /^Digit(\d)$/.exec(event.code)?.[1] : undefined;
  const found = all.findLast((each) => each.keys === `${before} ${pressed}`) ?? all.findLast((each) => each.keys === pressed) ?? all.findLast((each) => digit && each.keys === `Shift+${digit}`);
  clearTimeout(timer);
  before = '';
  if (inDialog && pressed !== 'mod+k') return;
  if (found) {
    event.preventDefault();
    found.run();
  } else if (!mod && all.some((each) => each.keys.startsWith(`${pressed} `))) {
    before = pressed;
    timer = setTimeout(() => (before = ''), 1200);
  }
});

export const isMac = navigator.platform.startsWith('Mac');

/** Keys as they are shown. */
export function shownKeys(keys: string): string {
  return keys.replace('mod+', isMac ? '⌘ ' : 'Ctrl ').replace('Space', 'Space');
}
