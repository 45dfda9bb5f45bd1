/** Drafts of answers by their conversation, for as long as the tab is open: also over a reload and a sign-in. */
const NAME = 'draft ';

export function kept(key: string): string {
  try {
    return sessionStorage.getItem(NAME + key) ?? '';
  } catch {
    return ''; // a browser that stores nothing
  }
}

export function keep(key: string, text: string): void {
  try {
    if (text) sessionStorage.setItem(NAME + key, text);
    else sessionStorage.removeItem(NAME + key);
  } catch {
    // The text stays in the field.
  }
}

export function forget(key: string): void {
  keep(key, '');
}
