import type { Kind } from './types';

/** Contacts or companies. */
export function KindSwitch({ kind, onPick }: { kind: Kind; onPick: (kind: Kind) => void }) {
  return (
    <div class="switch" role="group" aria-label="Of">
      {(['contacts', 'companies'] as const).map((each) => (
        <button key={each} type="button" aria-pressed={kind === each} onClick={() => onPick(each)}>
          {each === 'contacts' ? 'Contacts' : 'Companies'}
        </button>
      ))}
    </div>
  );
}
