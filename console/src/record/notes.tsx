/** Notes on a contact or company: what the team writes down, in the timeline and between the messages of Replies. */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, call, newKey, type Problem } from '../api';
import { readAgain } from '../data';
import { isMac, useShortcuts } from '../keys';
import { client } from '../route';
import { canWrite, isAdmin, session } from '../session';
import { kept, put } from '../replies/answer-drafts';
import { usePeople } from '../replies/conversations';
import type { Schemas } from '../types';
import { Button, Keys, ProblemNote } from '../ui/basic';
import { Confirm } from '../ui/confirm';
import { toast } from '../ui/toast';

type Shown = Schemas['NoteInTimeline'];
const MOST = 10_000;
const MOST_SUGGESTED = 6;

/** The record that a note is about. */
export interface Noted {
  kind: 'contacts' | 'companies';
  id: number | string;
  of: string;
}

export function notedHere(kind: Noted['kind'], id: number | string): Noted {
  return { kind, id, of: client.value || session.value?.client_id || 'default' };
}

function pathOf({ kind, id, of }: Noted): string {
  return `/team/v1/notes/${encodeURIComponent(of)}/${kind}/${id}`;
}

function changed({ kind, id, of }: Noted): Promise<void> {
  return readAgain(`/public/v2/${kind}/${id}/timeline`, `/team/v1/conversations/${encodeURIComponent(of)}/${id}`);
}

/** The path of the record whose new note is being written. */
const writing = signal<string | null>(null);

/** The people whom a text names, those with longer names first: `@Mira Berg` does not name another Mira. */
function namedIn(text: string, people: ReadonlyMap<string, string>): string[] {
  let left = text;
  return [...people].sort(([, a], [, b]) => b.length - a.length).flatMap(([id, name]) => {
    const before = left;
    left = left.replaceAll(`@${name}`, ' ');
    return before === left ? [] : [id];
  });
}

/** The button that begins a note. */
export function NoteButton({ on, quiet, done }: { on: Noted; quiet?: boolean; done?: (() => void) | undefined }) {
  useShortcuts(() => [{ keys: 'n', does: 'Write a note', group: 'Notes', run: () => document.querySelector<HTMLElement>('.note-open')?.click() }]);
  if (!canWrite.value) return null;
  return (
    <Button kind={quiet ? 'quiet' : undefined} class="note-open" icon="edit" onClick={() => (done?.(), (writing.value = pathOf(on)))}>
      Note <Keys of="n" />
    </Button>
  );
}

/** The field for a new note, while one is written about this record. */
export function NewNote({ on }: { on: Noted }) {
  const path = pathOf(on);
  useEffect(() => () => {
    if (writing.value === path) writing.value = null;
  }, [path]);
  return writing.value === path ? <NoteForm on={on} close={() => (writing.value = null)} /> : null;
}

function NoteForm({ on, note, close }: { on: Noted; note?: Shown; close: () => void }) {
  const path = note ? `${pathOf(on)}/${note.id}` : pathOf(on);
  const draft = `note ${path}`;
  const people = usePeople(on.of);
  const [text, setText] = useState(() => kept(draft) ?? note?.text ?? '');
  const [caret, setCaret] = useState(text.length);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const request = useRef({ text: '', key: '' });
  useEffect(() => field.current?.focus(), []);
  const typed = /(?:^|\s)@(\S*)$/.exec(text.slice(0, caret))?.[1];
  const suggested = typed === undefined ? [] : [...people.values()].filter((name) => name.toLowerCase().startsWith(typed.toLowerCase())).slice(0, MOST_SUGGESTED);
  function write(value: string, to: number) {
    setText(value);
    setCaret(to);
    put(draft, value && value !== note?.text ? value : null);
  }
  function name(person: string) {
    if (!field.current) return;
    // At once, or what is typed meanwhile stands in front of the name.
    field.current.setRangeText(`${person} `, caret - (typed ?? '').length, caret, 'end');
    field.current.focus();
    write(field.current.value, field.current.selectionStart);
  }
  async function save() {
    if (busy || !text.trim()) return;
    setBusy(true);
    setProblem(null);
    // Somebody who has left stays named.
    const body = { text, mentions: [...namedIn(text, people), ...(note?.mentions.filter((id) => !people.has(id)) ?? [])] };
    if (request.current.text !== text) request.current = { text, key: newKey() };
    try {
      if (note) await call('PATCH', path, { body, headers: { 'if-match': `"${note.version}"` } });
      else await call('POST', path, { body, headers: { 'idempotency-key': request.current.key } });
      put(draft, null);
      close();
      toast('The note is saved.');
      void changed(on);
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  }
  return (
    <form
      class="composer note-form"
      aria-label={note ? 'Change the note' : 'New note'}
      onSubmit={(event) => (event.preventDefault(), void save())}
      onKeyDown={(event) => {
        if (event.isComposing) return;
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) {
          event.preventDefault();
          void save();
        } else if (event.key === 'Tab' && !event.shiftKey && suggested[0]) {
          event.preventDefault();
          name(suggested[0]);
        } else if (event.key === 'Escape') {
          event.stopPropagation();
          close();
        }
      }}
    >
      <textarea ref={field} rows={3} maxLength={MOST} dir="auto" aria-label="The note, as plain text" placeholder={people.size ? 'For your colleagues; @ names one of them' : 'For your colleagues'} value={text} onInput={(event) => write(event.currentTarget.value, event.currentTarget.selectionStart)} onKeyUp={(event) => setCaret(event.currentTarget.selectionStart)} />
      {suggested.length > 0 && (
        <div class="marks" role="group" aria-label="People">
          {suggested.map((person, n) => (
            <Button key={person} onClick={() => name(person)}>
              @{person} {n === 0 && <kbd>Tab</kbd>}
            </Button>
          ))}
        </div>
      )}
      {problem && <ProblemNote problem={problem} />}
      <div class="marks">
        <Button kind="main" type="submit" busy={busy} disabled={!text.trim()}>
          Save note <kbd>{`${isMac ? '⌘' : 'Ctrl'} Enter`}</kbd>
        </Button>
        <Button kind="quiet" onClick={close}>
          Cancel <kbd>Esc</kbd>
        </Button>
      </div>
    </form>
  );
}

/** The text of a note with the people whom it names, and what its author may do with it. */
export function Note({ on, note, by }: { on: Noted; note: Shown; by: Schemas['Actor'] }) {
  const people = usePeople(on.of);
  const [isOpen, setOpen] = useState(false);
  const [isLeaving, setLeaving] = useState(false);
  if (isOpen) return <NoteForm on={on} note={note} close={() => setOpen(false)} />;
  const names = note.mentions.flatMap((id) => people.get(id) ?? []).map((name) => `@${name}`);
  const user = session.value?.user;
  const isOwn = canWrite.value && (user ? by.id === user.id : by.type !== 'user');
  return (
    <div class="noted">
      <p class="text-of" dir="auto">{parted(note.text, names).map((part, n) => (names.includes(part) ? <b key={n}>{part}</b> : part))}</p>
      {(isOwn || isAdmin.value) && (
        <div class="marks">
          {isOwn && <Button kind="quiet" icon="edit" onClick={() => setOpen(true)}>Edit</Button>}
          <Button kind="quiet" onClick={() => setLeaving(true)}>Delete</Button>
        </div>
      )}
      {isLeaving && (
        <Confirm
          title="Delete this note?"
          action="Delete note"
          danger
          run={async () => {
            await call('DELETE', `${pathOf(on)}/${note.id}`, { headers: { 'if-match': `"${note.version}"` } });
            toast('The note is deleted.');
            void changed(on);
          }}
          onClose={() => setLeaving(false)}
        >
          <p>It cannot be restored.</p>
        </Confirm>
      )}
    </div>
  );
}

/** A text in parts, names apart. */
function parted(text: string, names: readonly string[]): string[] {
  if (!names.length) return [text];
  const escaped = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return text.split(new RegExp(`(${escaped.join('|')})`)).filter(Boolean);
}
