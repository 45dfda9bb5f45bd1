/** What opens the revert of a change, from any screen: the dialog is loaded when it is first wanted. */
import { signal } from '@preact/signals';
import type { Schemas } from '../types';

export type Change = Schemas['ChangeOut'];

/** The change whose revert is prepared. */
export const reverting = signal<Change | null>(null);
