/** A dialog that sends something: what happens, the fields that it needs, and the API's words if it is refused. */
import { cloneElement, type ComponentChildren, type VNode } from 'preact';
import { useId, useState } from 'preact/hooks';
import { asProblem, type Problem } from '../api';
import { Button, Icon, ProblemNote } from './basic';
import { isAsked } from './conflict';
import { copy, Dialog } from './overlay';
import { toast } from './toast';

interface ConfirmProps {
  title: string;
  /** What the button says. */
  action: string;
  danger?: boolean;
  disabled?: boolean;
  wide?: boolean;
  /** Closes the dialog when it is done, unless it returns `false`. */
  run: () => Promise<unknown>;
  onClose: () => void;
  children?: ComponentChildren;
}

export function Confirm({ title, action, danger, disabled, wide, run, onClose, children }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);

  async function send(event: Event) {
    event.preventDefault();
    if (busy || disabled) return;
    setBusy(true);
    setProblem(null);
    try {
      if ((await run()) !== false) {
        onClose();
        return;
      }
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }

  return (
    <Dialog title={title} onClose={onClose} wide={wide ?? false}>
      <form class="confirm" onSubmit={(event) => void send(event)}>
        {children}
        {problem && <ProblemNote problem={problem} />}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind={danger ? 'danger' : 'main'} busy={busy && !isAsked.value} disabled={disabled}>
            {action}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

interface FieldProps {
  label: string;
  help?: ComponentChildren;
  /** The control. */
  children: VNode;
}

/** A label, its control, and what the control means. */
export function Field({ label, help, children }: FieldProps) {
  const id = useId();
  return (
    <div class="form-field">
      <label for={id}>{label}</label>
      {cloneElement(children, help === undefined ? { id } : { id, 'aria-describedby': `${id}-help` })}
      {help !== undefined && (
        <span class="faint" id={`${id}-help`}>
          {help}
        </span>
      )}
    </div>
  );
}

/** A text to copy, cut where it is too long. */
export function CopyLine({ text, of, hidden }: { text: string; of: string; hidden?: boolean }) {
  const said = `The ${of} is copied.`;
  return (
    <p class="copy-line">
      <code class="cut" title={hidden ? undefined : text}>
        {text}
      </code>
      <Button icon="copy" label={`Copy the ${of}`} onClick={() => void copy(text).then(() => toast(said), () => toast('The browser does not allow copying here. Select the text instead.', { bad: true }))} />
    </p>
  );
}

/** A text that is shown this once. */
export function ShownOnce({ text, of, children }: { text: string; of: string; children?: ComponentChildren }) {
  return (
    <div class="once">
      <p>
        <Icon name="warning" /> This is the only time that the {of} is shown. Copy it now.
      </p>
      <CopyLine text={text} of={of} />
      {children}
    </div>
  );
}
