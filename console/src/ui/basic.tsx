/** The small parts of all screens. */
import type { ComponentChildren, JSX } from 'preact';
import type { Problem } from '../api';
import { ago, fullTime, shortTime } from '../words';

export type IconName =
  | 'asc' | 'ban' | 'board' | 'book' | 'check' | 'close' | 'code' | 'columns' | 'company' | 'contacts' | 'copy' | 'desc' | 'dot' | 'down' | 'download'
  | 'edit' | 'filter' | 'inbox' | 'key' | 'keyboard' | 'leave' | 'left' | 'link' | 'mail' | 'menu' | 'merge' | 'moon' | 'more' | 'open' | 'overview' | 'plus'
  | 'replay' | 'reply' | 'right' | 'search' | 'settings' | 'sun' | 'system' | 'undo' | 'views' | 'warning'
  | 'erase' | 'outgoing' | 'upload' | 'new' | 'active' | 'lost';

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" aria-hidden="true">
      <use href={`#i-${name}`} />
    </svg>
  );
}

type ButtonProps = Omit<JSX.IntrinsicElements['button'], 'icon' | 'label'> & {
  icon?: IconName;
  kind?: 'main' | 'quiet' | 'danger' | undefined;
  /** For a button that shows its icon alone. */
  label?: string;
  busy?: boolean;
};

export function Button({ icon, kind, label, busy, children, ...rest }: ButtonProps) {
  const alone = children === undefined;
  return (
    <button type="button" {...rest} class={`button ${kind ?? ''} ${alone ? 'alone' : ''} ${rest.class ?? ''}`} aria-label={label ?? rest['aria-label']} title={label} aria-busy={busy}>
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}

export function Time({ at, as = 'short' }: { at: string | null | undefined; as?: 'short' | 'ago' }) {
  if (!at) return null;
  return (
    <time dateTime={at} title={fullTime(at)}>
      {as === 'ago' ? ago(at) : shortTime(at)}
    </time>
  );
}

/** A screen or list without content: what it will show, and the next step. `whole`: it is all there is of the screen. */
export function Empty({ icon, title, whole, children }: { icon: IconName; title: string; whole?: boolean; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} />
      {whole ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  );
}

/** What went wrong, in the API's words, with what can be done. */
export function ProblemNote({ problem, retry }: { problem: Problem; retry?: () => void }) {
  const faults = problem.body.errors ?? [];
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <div>
        <p>{problem.message}</p>
        {faults.length > 1 && (
          <ul>
            {faults.map((each) => (
              <li key={each.pointer + each.detail}>
                <code>{each.pointer}</code> {each.detail}
              </li>
            ))}
          </ul>
        )}
        {problem.body.request_id && <p class="faint">Request {problem.body.request_id}</p>}
      </div>
      {retry && ![400, 403, 404, 422].includes(problem.status) && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** Why something was not loaded, with a button to load it again; nothing if it was. */
export function LoadProblem({ of }: { of: { error: Problem | null; refetch: () => unknown } }) {
  return of.error && <ProblemNote problem={of.error} retry={() => void of.refetch()} />;
}

export function Skeleton({ lines = 3, wide = 60 }: { lines?: number; wide?: number }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, n) => (
        <span key={n} style={{ width: `${wide - ((n * 17) % 30)}%` }} />
      ))}
    </div>
  );
}

export function Keys({ of }: { of: string }) {
  return (
    <span class="keys">
      {of.split(' ').map((each, n) => (
        <kbd key={n}>{each}</kbd>
      ))}
    </span>
  );
}
