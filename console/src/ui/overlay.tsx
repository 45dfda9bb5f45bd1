/** Dialogs and pop-overs, by the browser's own means: focus, Escape and a click outside are its work. */
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Button, Icon, type IconName } from './basic';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
  bare?: boolean;
  /** Whether it cannot be closed: what it asks must be answered. */
  stays?: boolean;
}

export function Dialog({ title, onClose, children, wide, bare, stays }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the page is painted, so that what is typed at once is typed here.
  useLayoutEffect(() => {
    ref.current?.showModal();
  }, []);
  return (
    <dialog
      ref={ref}
      class={`dialog ${wide ? 'wide' : ''} ${bare ? 'bare' : ''}`}
      aria-labelledby={bare ? undefined : id}
      aria-label={bare ? title : undefined}
      onClose={onClose}
      onCancel={(event) => stays && event.preventDefault()}
      onMouseDown={(event) => !stays && event.target === ref.current && ref.current?.close()}
    >
      <div class="dialog-inner">
        {!bare && (
          <header>
            <h2 id={id}>{title}</h2>
            {!stays && <Button kind="quiet" icon="close" label="Close" onClick={() => ref.current?.close()} />}
          </header>
        )}
        {children}
      </div>
    </dialog>
  );
}

interface PopoverProps {
  text: ComponentChildren;
  label?: string;
  icon?: IconName;
  kind?: 'quiet';
  class?: string;
  disabled?: boolean;
  children: (close: () => void) => ComponentChildren;
}

/** A button that opens a small panel below it. */
export function Popover({ text, label, icon, kind, children, disabled, class: more }: PopoverProps) {
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = () => panel.current?.hidePopover();
  function put() {
    if (!button.current || !panel.current) return;
    const from = button.current.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = panel.current;
    const left = Math.max(8, Math.min(from.left, innerWidth - width - 8));
    const below = from.bottom + 4 + height <= innerHeight - 8 || from.top < height;
    panel.current.style.left = `${left}px`;
    panel.current.style.top = `${below ? from.bottom + 4 : from.top - height - 4}px`;
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class={`button ${kind ?? ''} ${text === '' ? 'alone' : ''} ${more ?? ''}`}
        popovertarget={id}
        aria-label={label}
        title={label}
        disabled={disabled}
      >
        {icon && <Icon name={icon} />}
        {text !== '' && <span class="cut">{text}</span>}
        {kind !== 'quiet' && text !== '' && <Icon name="down" />}
      </button>
      <div ref={panel} id={id} popover="auto" class="popover" onToggle={(event) => (put(), (event as ToggleEvent).newState === 'open' && enter(event.currentTarget))} onKeyDown={arrows}>
        {children(close)}
      </div>
    </>
  );
}

function stopsOf(panel: HTMLElement): HTMLElement[] {
  return [...panel.querySelectorAll<HTMLElement>('button, input, a, select')].filter((each) => !each.hasAttribute('disabled'));
}

/** Move the focus into a panel: to its field, the chosen entry, or the first one. */
function enter(panel: HTMLElement): void {
  if (panel.contains(document.activeElement)) return;
  (panel.querySelector<HTMLElement>('[autofocus], [aria-pressed=true]') ?? stopsOf(panel)[0])?.focus();
}

/** Move the focus among the entries of a panel: by the arrow keys, and by the letter with which an entry begins. */
export function arrows(event: KeyboardEvent): void {
  if (!(event.currentTarget instanceof HTMLElement)) return;
  const all = stopsOf(event.currentTarget);
  const at = all.indexOf(document.activeElement as HTMLElement);
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  const isLetter = event.key.length === 1 && event.key !== ' ' && !event.ctrlKey && !event.metaKey && !event.altKey && event.target instanceof HTMLButtonElement;
  const begins = (each: HTMLElement) => each.textContent.trim().toLowerCase().startsWith(event.key.toLowerCase());
  const next = step ? all[(at + step + all.length) % all.length] : isLetter ? [...all.slice(at + 1), ...all.slice(0, at)].find(begins) : undefined;
  if (!next) return;
  event.preventDefault();
  next.focus();
}

interface EntryProps {
  onPick: () => void;
  chosen?: boolean;
  children: ComponentChildren;
  note?: ComponentChildren;
  icon?: IconName;
  disabled?: boolean;
}

/** One entry of a panel. */
export function Entry({ onPick, chosen, children, note, icon, disabled }: EntryProps) {
  return (
    <button type="button" class="entry" aria-pressed={chosen} onClick={onPick} disabled={disabled}>
      {icon ? <Icon name={icon} /> : <span class="tick">{chosen && <Icon name="check" />}</span>}
      <span class="cut">{children}</span>
      {note !== undefined && <span class="note">{note}</span>}
    </button>
  );
}

/** Copy a text, and say so on the button. */
export async function copy(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}
