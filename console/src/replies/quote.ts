/**
 * Where the quoted text of a reply begins. A program that quotes begins with a line of its own ("On … wrote:", a block of From and Sent,
 * "Original Message"), or marks each line with ">". Texts come from outsiders: lines are looked at once, and only so many.
 */

const MOST_LINES = 500;
const LONGEST_LINE = 300;
const WROTE = /(?:wrote|writes|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|skrev|kirjoitti|napisał(?:\(a\)|a)?|napsal(?:\(a\)|a)?|yazdı|написал(?:а)?)/iu;
const ATTRIBUTION = /^(?:on|am|le|el|il|op|em|den|på|kl|w dniu|dnia|dne|tarihinde|\d)\b|@/iu;
const RULE = /^[_-]{10,}$/u;
const FORWARDED = /^[-_*\s]*(?:original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht|message d.origine|message transféré|mensaje original|messaggio originale|oorspronkelijk bericht|mensagem original|ursprungligt meddelande|oprindelig meddelelse|oryginalna wiadomość)[-_*\s]*$/iu;
const FROM = /^\*?(?:from|von|de|da|van|från|fra|od|lähettäjä)\s?:\*?\s?\S/iu;
const HEADER = /^\*?(?:sent|date|to|cc|subject|gesendet|datum|an|betreff|envoyé|à|objet|enviado(?: el)?|fecha|para|asunto|inviato|data|a|oggetto|verzonden|aan|onderwerp|skickat|till|ämne|sendt|til|emne|wysłano|do|temat)\s?:/iu;

function isQuoted(line: string): boolean {
  return line.startsWith('>');
}

/** Whether a quote begins at a line: what introduces it, and not the line itself, tells it from other text. */
function begins(lines: readonly string[], at: number): boolean {
  const line = (lines[at] ?? '').slice(0, LONGEST_LINE);
  if (RULE.test(line)) return FROM.test(lines[at + 1] ?? '') && begins(lines, at + 1);
  if (FORWARDED.test(line)) return true;
  if (FROM.test(line)) return lines.slice(at + 1, at + 5).filter((next) => HEADER.test(next.slice(0, LONGEST_LINE))).length >= 2;
  if (isQuoted(line)) return true;
  // Programs fold a long "On 5 May 2026 at 10:00, Ann <ann@example.com> wrote:" over up to three lines.
  for (let last = at; last < at + 3; last += 1) {
    const said = lines.slice(at, last + 1).join(' ').slice(0, 2 * LONGEST_LINE).trim();
    if (/[:：]$/u.test(said)) return /[\d@]/u.test(said) && ATTRIBUTION.test(said) && WROTE.test(said);
    if (!lines[last]?.trim()) return false;
  }
  return false;
}

/** Return the index of the character at which the quoted text begins; null if nothing is quoted, or if the new text is not above it. */
export function quotedFrom(text: string): number | null {
  const lines = text.split('\n', MOST_LINES).map((line) => line.trim());
  const first = lines.findIndex((line, at) => line !== '' && begins(lines, at));
  if (first < 1 || lines.slice(0, first).every((line) => line === '')) return null;
  const rest = lines.slice(first);
  const marked = rest.findIndex(isQuoted);
  // An answer between marked lines, or below them: the reply is shown whole.
  if (marked >= 0 && rest.slice(marked).some((line, at, below) => line !== '' && !isQuoted(line) && !begins(below, at))) return null;
  let start = 0;
  for (let line = 0; line < first; line += 1) start = text.indexOf('\n', start) + 1;
  return start;
}
