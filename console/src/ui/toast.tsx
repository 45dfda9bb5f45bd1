/** Short messages after an action, each with the way back where there is one. */
import { signal } from '@preact/signals';
import { asProblem, forgetEdit } from '../api';
import { Button } from './basic';

interface Toast {
  id: number;
  text: string;
  bad: boolean;
  undo: (() => Promise<unknown>) | null;
  action: { text: string; run: () => void } | null;
}

const toasts = signal<Toast[]>([]);
const SECONDS = 8;
let last = 0;

interface Options {
  undo?: () => Promise<unknown>;
  action?: { text: string; run: () => void };
  bad?: boolean;
  /** It stays until it is removed by its id. */
  stays?: boolean;
}

/** Show a message; returns its id. */
export function toast(text: string, { undo, action, bad = false, stays = false }: Options = {}): number {
  const id = ++last;
  toasts.value = [...toasts.value.slice(-2), { id, text, bad, undo: undo ?? null, action: action ?? null }];
  if (!stays) setTimeout(() => dismiss(id), (bad ? 2 : 1) * SECONDS * 1000);
  return id;
}

/** Change the text of a message that stays. */
export function changeToast(id: number, text: string): void {
  toasts.value = toasts.value.map((each) => (each.id === id ? { ...each, text } : each));
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

/** Show an error as a message. */
export function toastProblem(error: unknown): void {
  toast(asProblem(error).message, { bad: true });
}

async function undo(one: Toast): Promise<void> {
  dismiss(one.id);
  try {
    await one.undo?.();
    forgetEdit();
    toast('Undone.');
  } catch (error) {
    toastProblem(error);
  }
}

/** Undo the last action that can be undone. */
export function undoLast(): boolean {
  const found = toasts.value.findLast((each) => each.undo);
  if (found) void undo(found);
  return found !== undefined;
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((each) => (
        <div key={each.id} class={`toast ${each.bad ? 'bad' : ''}`}>
          <span>{each.text}</span>
          {each.undo && (
            <Button icon="undo" onClick={() => void undo(each)}>
              Undo
            </Button>
          )}
          {each.action && (
            <Button onClick={each.action.run}>{each.action.text}</Button>
          )}
          <Button kind="quiet" icon="close" label="Dismiss" onClick={() => dismiss(each.id)} />
        </div>
      ))}
    </div>
  );
}
