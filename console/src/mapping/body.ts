/** A received body as a tree of values that one can point at, each with its path. */

export interface Leaf {
  /** As a connection's `fields` have it: keys joined by dots. */
  path: string;
  /** The key that is shown, and how deep it stands. */
  key: string;
  depth: number;
  /** Null: it holds others. */
  value: string | null;
}

const MOST = 400;
/** Keys below which the campaign adapter takes each entry of a list, or the one object, for an event of its own. */
const WRAPPERS = new Set(['data', 'payload', 'body', 'event-data', 'events', 'Data', 'eventData', 'customData', 'leads', 'contacts', 'prospects', 'subscribers', 'records', 'rows']);

/** The body as JSON or form fields; undefined if it is neither. */
export function parsed(text: string): unknown {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found !== null ? found : undefined;
  } catch {
    if (!/^[\w.~[\]%+-]+=/.test(text)) return undefined;
    return Object.fromEntries(new URLSearchParams(text));
  }
}

/** Whether a list of objects is below a name, of which each entry may be a record of its own. */
export function hasList(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  return Object.values(body).some((value) => (Array.isArray(value) ? value.some((each) => typeof each === 'object' && each !== null) : hasList(value)));
}

/** The values of a body with their paths; with `eachEntry` those within the first list of objects are of each of its entries. */
export function leavesOf(body: unknown, channel: string, eachEntry = false): Leaf[] {
  const found: Leaf[] = [];
  function add(value: unknown, key: string, path: string, depth: number): void {
    if (found.length >= MOST) return;
    if (typeof value !== 'object' || value === null) {
      found.push({ path, key, depth, value: value === null ? '' : String(value) });
      return;
    }
    if (key) found.push({ path, key, depth, value: null });
    const isRecords = eachEntry && path !== '' && !path.includes('[]') && Array.isArray(value) && value.some((entry) => typeof entry === 'object' && entry !== null);
    const isEvents = !eachEntry && Array.isArray(value) && (path === '' || (channel !== 'crm' && WRAPPERS.has(path)));
    const entries: [string, unknown][] = Array.isArray(value) ? value.slice(0, isEvents || isRecords ? 1 : 5).map((each, n) => [String(n), each]) : Object.entries(value);
    for (const [name, inner] of entries) {
      // Of several events in a list one declares the places within each.
      if (isEvents) add(inner, `entry ${Number(name) + 1}`, '', depth + (key ? 1 : 0));
      else if (isRecords) add(inner, 'each entry', `${path}[]`, depth + 1);
      else add(inner, name, path ? `${path}.${name}` : name, key ? depth + 1 : depth);
    }
  }
  add(body, '', '', 0);
  return found.filter((each) => each.value !== null || each.path !== '');
}

/** The value at a path, as the leaves have it. */
export function valueAt(leaves: readonly Leaf[], path: string | undefined): string | null {
  return leaves.find((each) => each.path === path)?.value ?? null;
}
