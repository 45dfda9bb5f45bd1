import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
const STORED = 'touchbase-theme';
const given = localStorage.getItem(STORED);

export const theme = signal<Theme>(given === 'light' || given === 'dark' ? given : 'system');

/** Set the theme and remember it in this browser. */
export function setTheme(next: Theme): void {
  theme.value = next;
  if (next === 'system') {
    localStorage.removeItem(STORED);
    delete document.documentElement.dataset['theme'];
  } else {
    localStorage.setItem(STORED, next);
    document.documentElement.dataset['theme'] = next;
  }
}

/** Go on to the next theme: as the system, light, dark. */
export function nextTheme(): void {
  setTheme(theme.value === 'system' ? 'light' : theme.value === 'light' ? 'dark' : 'system');
}
