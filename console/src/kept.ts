/** What belongs to one entry of the browser's history: Back, reload and signing in again bring it back. */
import { leaving } from './route';

type Kept = Record<string, unknown>;

/** Return what was kept under a name for the present address. */
export function kept<T>(name: string): T | undefined {
  return (history.state as Kept | null)?.[name] as T | undefined;
}

export function keep(name: string, value: unknown): void {
  history.replaceState({ ...(history.state as Kept | null), [name]: value }, '');
}

/** Parts of the page that scroll, each by its id. */
const SCROLLED = '#main, [data-scrolls]';
/** A list whose pages stop to come for so long is as long as it gets. */
const PATIENCE = 20_000;
let timer: ReturnType<typeof setTimeout> | undefined;
let stop = () => undefined as void;
/** Parts on their way to where they were. */
let wanted = new Map<string, number>();
let scrolled: HTMLElement | null = null;

function keepScroll(): void {
  clearTimeout(timer);
  if (scrolled?.isConnected) keep(`scroll ${scrolled.id}`, scrolled.scrollTop);
  scrolled = null;
}

document.addEventListener('scroll', ({ target }) => {
  if (!(target instanceof HTMLElement) || !target.matches(SCROLLED) || wanted.has(target.id)) return;
  clearTimeout(timer);
  scrolled = target;
  timer = setTimeout(keepScroll, 100);
}, { capture: true, passive: true });

/** How to find an element again on the same page. */
function selectorOf(element: Element): string | null {
  if (element.id && !/^(_|P\d)/.test(element.id)) return `#${CSS.escape(element.id)}`;
  const link = element.getAttribute('href');
  if (link !== null) return `a[href="${CSS.escape(link)}"]`;
  const label = element.getAttribute('aria-label');
  return label === null ? null : `${element.tagName.toLowerCase()}[aria-label="${CSS.escape(label)}"]`;
}

document.addEventListener('focusin', ({ target }) => {
  if (target instanceof Element && target.closest('#main')) keep('focus', selectorOf(target));
});

/** Scroll and focus as they were kept, as soon as the page is long enough; what the person does meanwhile goes first. */
export function restore(): void {
  stop();
  const state = (history.state as Kept | null) ?? {};
  wanted = new Map(Object.entries(state).filter(([name]) => name.startsWith('scroll ')).map(([name, top]) => [name.slice(7), Number(top)]));
  let focus = typeof state['focus'] === 'string' ? state['focus'] : null;
  let until = performance.now() + PATIENCE;
  let length = 0;
  let isOver = false;
  stop = () => {
    isOver = true;
    wanted.clear();
  };
  function look() {
    if (isOver) return;
    for (const [id, top] of wanted) {
      const element = document.getElementById(id);
      if (element && element.scrollHeight !== length) {
        length = element.scrollHeight;
        until = performance.now() + PATIENCE;
      }
      if (element) element.scrollTop = top;
      if (element && Math.abs(element.scrollTop - top) < 2) wanted.delete(id);
    }
    const element = focus ? document.querySelector<HTMLElement>(`#main ${focus}, #main${focus}`) : null;
    if (element && (document.activeElement === document.body || !document.activeElement)) {
      element.focus({ preventScroll: true });
      focus = null;
    }
    if ((wanted.size || focus) && performance.now() < until) requestAnimationFrame(look);
    else stop();
  }
  requestAnimationFrame(look);
}

for (const name of ['wheel', 'pointerdown', 'keydown', 'touchstart']) addEventListener(name, () => stop(), { capture: true, passive: true });
leaving.add(keepScroll);
addEventListener('popstate', () => {
  // The entry that was left can be changed no more.
  scrolled = null;
  restore();
});
restore();
