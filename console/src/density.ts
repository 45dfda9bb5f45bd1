/** A person's choices of sizes: the height of rows and the width of the list of replies. This browser remembers them. */
import { signal, type Signal } from '@preact/signals';

export type Density = 'regular' | 'compact';
export const DENSITIES: readonly (readonly [Density, string])[] = [['regular', 'Regular'], ['compact', 'Compact']];
const STORED = { density: 'touchbase-density', listWidth: 'touchbase-replies-width' };
export const LIST_WIDTH = { usual: 380, min: 320, max: 520 };
const stored = Number(localStorage.getItem(STORED.listWidth));

export const density: Signal<Density> = signal(localStorage.getItem(STORED.density) === 'compact' ? 'compact' : 'regular');
export const listWidth = signal(stored >= LIST_WIDTH.min && stored <= LIST_WIDTH.max ? stored : LIST_WIDTH.usual);

export function setDensity(next: Density): void {
  density.value = next;
  localStorage.setItem(STORED.density, next);
}

export function setListWidth(next: number): void {
  listWidth.value = next;
  localStorage.setItem(STORED.listWidth, `${next}`);
}
