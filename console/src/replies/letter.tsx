/** The text of a message, as text: what it quotes, and a long one, is folded. */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Button } from '../ui/basic';
import { count } from '../words';
import { quotedFrom } from './quote';

const LONG = 700;
const LINES = 10;

/** The beginning of a text that is too long to be shown at once; null for one that is not. */
function beginning(text: string): string | null {
  const lines = text.split('\n');
  const cut = (lines.length > LINES ? lines.slice(0, LINES).join('\n') : text).slice(0, LONG);
  // A few more words are not worth a button.
  return text.length - cut.length > 80 ? `${cut.trimEnd()} …` : null;
}

/** A longer address, or one with a name before its host, is shown by its host alone: that is where it leads. */
const LONG_LINK = 60;

/** The text with its web addresses as links. */
function linked(text: string): ComponentChildren[] {
  return text.split(/(https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?])/).map((part, n) => {
    if (n % 2 === 0 || !URL.canParse(part)) return part;
    const { host, username } = new URL(part);
    return (
      <a key={n} href={part} title={part} target="_blank" rel="noopener noreferrer">
        {part.length > LONG_LINK || username ? `${host}/…` : part}
      </a>
    );
  });
}

export function Letter({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  const quoted = useMemo(() => quotedFrom(text), [text]);
  const own = quoted === null ? text : text.slice(0, quoted).trimEnd();
  const folded = beginning(own) ?? (quoted === null ? null : own);
  const more = quoted === null ? `Show all ${count(text.length)} characters` : own === folded ? 'Show quoted text' : `Show all ${count(text.length)} characters, with quoted text`;
  return (
    <div class="letter">
      <p class="text-of" dir="auto">
        {linked(open ? text : (folded ?? text))}
      </p>
      {folded !== null && (
        <Button kind="quiet" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Show less' : more}
        </Button>
      )}
    </div>
  );
}
