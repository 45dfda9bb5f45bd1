/** Scripts that come when they are first needed. */
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Problem } from '../api';
import { ProblemNote } from './basic';

/** A screen, or a part of one, whose script is loaded when it is first shown. */
export function later<P extends object>(load: () => Promise<ComponentType<P>>, isPart = false): (props: P) => JSX.Element {
  let known: ComponentType<P> | undefined;
  return (props) => {
    const [Loaded, set] = useState(() => known);
    const [failed, setFailed] = useState<Problem | null>(null);
    useEffect(() => {
      if (Loaded) return;
      load().then((found) => {
        known = found;
        set(() => found);
      }, () => setFailed(new Problem(0, 'unreachable', 'This part of the console could not be loaded. Reload the page.')));
    }, []);
    if (Loaded) return <Loaded {...props} />;
    if (isPart) return <div aria-busy={!failed}>{failed && <ProblemNote problem={failed} retry={() => location.reload()} />}</div>;
    return <main id="main" class="screen" aria-busy={!failed}>{failed && <ProblemNote problem={failed} retry={() => location.reload()} />}</main>;
  };
}
