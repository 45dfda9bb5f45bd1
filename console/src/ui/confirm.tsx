/** A question before what cannot simply be taken back: it says what will happen. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { asProblem, type Problem } from '../api';
import { Button, ProblemNote } from './basic';
import { Dialog } from './overlay';

interface Props {
  title: string;
  /** What the button does, as a verb. */
  verb: string;
  run: () => Promise<unknown>;
  onClose: () => void;
  children: ComponentChildren;
}

export function Confirm({ title, verb, run, onClose, children }: Props) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  async function go() {
    setBusy(true);
    try {
      await run();
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">{children}</div>
      {problem && <ProblemNote problem={problem} />}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="danger" busy={busy} onClick={() => void go()}>
          {verb}
        </Button>
      </footer>
    </Dialog>
  );
}
