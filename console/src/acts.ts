/** Acts that the palette names: `?do=new` in an address opens what the screen's own button opens. */
import { useEffect } from 'preact/hooks';
import { go, place } from './route';

/** Run the screen's act if the address asks for it; the address forgets it, so that Back and reload do not repeat it. */
export function useAct(run: () => void): void {
  const isWanted = place.value.query.get('do') === 'new';
  useEffect(() => {
    if (!isWanted) return;
    run();
    const { path, query } = place.value;
    go(`/${path.join('/')}`, [...query].filter(([name]) => name !== 'do'), true);
  }, [isWanted]);
}
