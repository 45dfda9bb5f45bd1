/** Whether the first steps are on the overview: from an empty installation on until all are done or they are hidden. This browser remembers it. */
import { signal } from '@preact/signals';

/** When the newest webhook of each client arrived. */
export const RECEIVED = '/team/v1/deliveries/newest';
const STORED = 'touchbase-first-steps';

export const firstSteps = signal(localStorage.getItem(STORED) ?? '');
/** Whether what is below the first steps may be drawn: their height is known from then on. */
export const areStepsReady = signal(false);

export function setFirstSteps(to: 'shown' | 'hidden'): void {
  firstSteps.value = to;
  localStorage.setItem(STORED, to);
}
