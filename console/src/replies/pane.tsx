/** One conversation: who wrote what, and what can be done with it. */
import { call, reachable } from '../api';
import { queries, useRead } from '../data';
import { CONTACTS } from '../kinds/contact';
import { etagOf } from '../record/change';
import { NewNote, Note, NoteButton, type Noted } from '../record/notes';
import { narrow } from '../narrow';
import { href } from '../route';
import { canWrite, showsAll } from '../session';
import { NewTask, TaskButton } from '../tasks/tasks';
import type { Contact, Message, Page, Status } from '../types';
import { Button, Keys, LoadProblem, Skeleton, Time } from '../ui/basic';
import { ClientChip } from '../ui/client-chip';
import { choosesMine } from '../ui/conflict';
import { Entry, Popover } from '../ui/overlay';
import { digitOf, StatusMark, withDigits } from '../ui/status';
import { toast, toastProblem } from '../ui/toast';
import { shortTime, toolName, words } from '../words';
import { Answering } from './answer';
import { blocking } from './block';
import { change, LABELS, nameOf, refresh, useReadMark, useConversation, type Conversation, type ConversationChange } from './conversations';
import { Letter } from './letter';
import { SnoozeMenu } from './snooze';

const STATUSES = '/public/v2/statuses/contacts';
/** Milliseconds for which the statuses of a client are not read again, as each other selection compares them. */
const FRESH = 60_000;

function readStatuses(of: string): Promise<readonly Status[]> {
  const read = async () => (await call<Page<Status>>('GET', STATUSES, { query: { limit: '200' }, headers: { 'x-client-id': of } })).data.data;
  return queries.fetchQuery({ queryKey: ['', `${STATUSES} of ${of}`], queryFn: read, staleTime: FRESH });
}

/** The statuses that all of these clients have. */
export function useStatuses(...of: readonly string[]): readonly Status[] {
  const ids = [...new Set(of)].filter(Boolean).sort();
  const found = useRead(`${STATUSES}?of=${ids.join()}`, () => Promise.all(ids.map(readStatuses)), { enabled: ids.length > 0 });
  const [first, ...others] = found.data ?? [];
  return first?.filter(({ name }) => others.every((statuses) => statuses.some((status) => status.name === name))) ?? [];
}

/** Set the status of the contact of a conversation; where somebody set another one than is shown, the person chooses. */
export async function setStatus(conversation: Conversation, { name: status, look }: Status): Promise<void> {
  const before = conversation.contact.contact_status;
  const closes = look?.closes === true && conversation.state !== 'done';
  if (status === before && !closes) return;
  const path = `${CONTACTS.api}/${conversation.contact.id}`;
  const headers = { 'x-client-id': conversation.client_id };
  const set = async (to: string | null, from: string | null) => {
    const { data: contact } = await call<Contact>('GET', path, { query: { structure: 'FLAT' }, headers });
    const present = contact.contact_status ?? null;
    const differs = present !== from && present !== to;
    const isMine = !differs || (await choosesMine('Somebody set another status', [{ label: 'Status', theirs: words(present ?? ''), mine: words(to ?? '') }]));
    if (isMine) await call('PATCH', path, { body: { contact_status: to }, headers: { ...headers, 'if-match': etagOf(contact) } });
    await refresh(conversation, true);
    return isMine;
  };
  try {
    if (status !== before && !(await set(status, before))) return;
    const said = `${nameOf(conversation)}: status set to “${look?.label || words(status)}”`;
    if (closes) await change(conversation, { state: 'done' }, `${said}, done.`, { state: 'open' }, status === before ? undefined : () => set(before, status));
    else toast(`${said}.`, { undo: () => set(before, status) });
  } catch (error) {
    toastProblem(error);
  }
}

export function toggleDone(conversation: Conversation): void {
  const name = nameOf(conversation);
  if (conversation.state === 'done') void change(conversation, { state: 'open' }, `${name}: open again.`, { state: 'done' });
  else void change(conversation, { state: 'done' }, `${name}: done.`, { state: 'open' });
}

export function toggleKind(conversation: Conversation): void {
  const kind = conversation.state === 'automatic' ? 'human' : 'automatic';
  void change(conversation, { kind }, `${nameOf(conversation)}: moved to ${kind === 'human' ? 'Open' : 'Automatic'}.`, { kind: kind === 'human' ? 'automatic' : 'human' });
}

function snooze(conversation: Conversation, until: Date): void {
  const snoozed_until = until.toISOString();
  void change(conversation, { snoozed_until }, `${nameOf(conversation)}: snoozed until ${shortTime(snoozed_until)}.`, { snoozed_until: null });
}

export async function assign(conversation: Conversation, to: string | null, name: string): Promise<void> {
  const back = conversation.assignee_id;
  await change(conversation, { assignee_id: to }, `${nameOf(conversation)}: assigned to ${name}.`, { assignee_id: back });
}

/** The steps to the conversations before and behind one; null: it is at that end of the list. */
interface Turn {
  previous: (() => void) | null;
  next: (() => void) | null;
}

export function Pane({ conversation, statuses, people, place, turn, back }: { conversation: Conversation; statuses: readonly Status[]; people: ReadonlyMap<string, string>; place: string; turn: Turn; back: () => void }) {
  const found = useConversation(conversation);
  const name = nameOf(conversation);
  const { contact, newest } = conversation;
  const messages = found.data?.messages;
  const on: Noted = { kind: 'contacts', id: contact.id, of: conversation.client_id };
  const parts = [
    ...(messages ?? []).map((message) => ({ at: message.occurred_at, message, note: undefined })),
    ...(found.data?.notes ?? []).map((note) => ({ at: note.created_at, message: undefined, note })),
  ].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  useReadMark(found.data);
  return (
    <section class="pane" aria-label={`Conversation with ${name}`}>
      <header>
        <Button kind="quiet" class="back" icon="left" label="Back to the list" onClick={back} />
        <div class="grow">
          <div class="named">
            <h2 class="cut">
              <a href={href(`/contacts/${contact.id}`, {}, conversation.client_id)}>{name}</a>
            </h2>
            <ClientChip of={conversation.client_id} />
          </div>
          <p class="faint cut">{[contact.email !== name && contact.email, contact.company_name].filter(Boolean).join(' · ') || '\u00a0'}</p>
        </div>
        <StatusMark status={contact.contact_status} />
        <span class="turn">
          <Button kind="quiet" icon="left" label="Previous conversation" disabled={!turn.previous} onClick={() => turn.previous?.()} />
          <span class="faint place">{place}</span>
          <Button kind="quiet" icon="right" label="Next conversation" disabled={!turn.next} onClick={() => turn.next?.()} />
        </span>
      </header>
      {canWrite.value && !narrow.value && <Acts conversation={conversation} statuses={statuses} people={people} />}
      <div class="messages" id="conversation" data-scrolls tabIndex={0} role="region" aria-label="Messages">
        <LoadProblem of={found} />
        {!messages && !found.error && <Skeleton lines={8} wide={90} />}
        {parts.map(({ message, note }) =>
          message ? (
            <OneMessage key={message.id} message={message} isFirst={message === messages?.[0]} />
          ) : (
            <article key={`note ${note.id}`} class="message" aria-label={`Note by ${note.author.name || 'somebody'}`}>
              <p class="note-head">
                <span class="strong cut">{`Note, ${note.author.name || 'somebody'}`}</span>
                <Time at={note.created_at} />
              </p>
              <Note on={on} note={note} by={note.author} />
            </article>
          ),
        )}
        {messages?.length === 0 && <p class="faint">No message is stored.</p>}
        {newest && !newest.text && !messages?.length && <p class="faint">No text is stored: the tool sent none, or the client’s setting store_message_bodies is off.</p>}
      </div>
      <NewTask on={on} />
      <NewNote on={on} />
      {canWrite.value && found.data && <Answering conversation={conversation} found={found.data} finish={() => toggleDone(conversation)} />}
      {canWrite.value && narrow.value && <PhoneBar conversation={conversation} statuses={statuses} people={people} canAnswer={found.data?.reply_capability.how === 'api' || Boolean(found.data?.reply_capability.url)} />}
    </section>
  );
}

function OneMessage({ message, isFirst }: { message: Message; isFirst: boolean }) {
  const about = [toolName(message.tool), message.channel === 'linkedin' && 'LinkedIn', message.campaign_name ?? message.campaign_id, message.category && `marked “${message.category}”`];
  const isReply = message.direction === 'received';
  return (
    <details class={`message ${isReply ? 'received' : 'sent'}`} open={isReply || isFirst}>
      <summary>
        <span class="strong cut">{message.subject ?? (isReply ? 'Reply' : 'Email sent')}</span>
        <Time at={message.occurred_at} />
      </summary>
      {message.text ? <Letter text={message.text} /> : <p class="faint">No text is stored.</p>}
      <p class="faint about">{about.filter(Boolean).join(' · ')}</p>
    </details>
  );
}

interface ActsProps {
  conversation: Conversation;
  statuses: readonly Status[];
  people: ReadonlyMap<string, string>;
}

function Acts({ conversation, statuses, people }: ActsProps) {
  const { contact } = conversation;
  return (
    <div class="acts" inert={!reachable.value}>
      <div class="marks" role="group" aria-label={`Status of ${nameOf(conversation)}`}>
        {withDigits(statuses, showsAll.value).map((status, n) => (
          <button key={status.name} type="button" class="button" aria-pressed={status.name === contact.contact_status} onClick={() => void setStatus(conversation, status)}>
            <kbd>{digitOf(status, n, showsAll.value)}</kbd>
            <StatusMark status={status.name} />
          </button>
        ))}
        <StatusMenu conversation={conversation} statuses={statuses} />
        <BlockButton conversation={conversation} />
      </div>
      <div class="marks">
        <DoneButton conversation={conversation} />
        <SnoozeButton conversation={conversation} />
        <MoreActs conversation={conversation} people={people} />
      </div>
    </div>
  );
}

/** The acts of a phone, in reach of the thumb. */
function PhoneBar({ conversation, statuses, people, canAnswer }: ActsProps & { canAnswer: boolean }) {
  return (
    <div class="phone-bar" inert={!reachable.value} role="group" aria-label={`Acts on the conversation with ${nameOf(conversation)}`}>
      <StatusMenu conversation={conversation} statuses={statuses} />
      <DoneButton conversation={conversation} />
      <SnoozeButton conversation={conversation} />
      <Button icon="reply" disabled={!canAnswer} onClick={() => document.querySelector<HTMLElement>('.pane .answer-open')?.click()}>
        Answer
      </Button>
      <Popover text="" icon="more" label="More acts">
        {(close) => (
          <div class="marks">
            <MoreActs conversation={conversation} people={people} done={close} />
            <BlockButton conversation={conversation} />
          </div>
        )}
      </Popover>
    </div>
  );
}

/** All statuses of the client, by name; digits set only some. */
function StatusMenu({ conversation, statuses }: Omit<ActsProps, 'people'>) {
  return (
    <Popover text="Status" class="pick-status">
      {(close) => (
        <div class="entries">
          {statuses.map((status) => (
            <Entry key={status.name} chosen={status.name === conversation.contact.contact_status} onPick={() => (close(), void setStatus(conversation, status))}>
              <StatusMark status={status.name} />
            </Entry>
          ))}
        </div>
      )}
    </Popover>
  );
}

function DoneButton({ conversation }: { conversation: Conversation }) {
  const isDone = conversation.state === 'done';
  return (
    <Button kind="main" icon={isDone ? 'undo' : 'check'} onClick={() => toggleDone(conversation)}>
      {isDone ? 'Reopen' : 'Done'} <Keys of="e" />
    </Button>
  );
}

function SnoozeButton({ conversation }: { conversation: Conversation }) {
  if (conversation.state === 'open') return <SnoozeMenu pick={(until) => snooze(conversation, until)} />;
  if (conversation.state !== 'snoozed') return null;
  const again = { snoozed_until: conversation.snoozed_until };
  return <Button onClick={() => void change(conversation, { snoozed_until: null }, `${nameOf(conversation)}: open again.`, again)}>End snooze</Button>;
}

function MoreActs({ conversation, people, done }: Pick<ActsProps, 'conversation' | 'people'> & { done?: () => void }) {
  const { state, label } = conversation;
  return (
    <>
      <Popover text={label ? words(label) : 'Label'} class="pick-label">
        {(close) => (
          <div class="entries">
            {LABELS.map((each) => (
              <Entry
                key={each}
                chosen={each === label}
                onPick={() => {
                  close();
                  void change(conversation, { label: each }, `${nameOf(conversation)}: labelled “${words(each)}”.`, { label: (label ?? null) as NonNullable<ConversationChange['label']> | null });
                }}
              >
                {words(each)}
              </Entry>
            ))}
          </div>
        )}
      </Popover>
      {people.size > 0 && (
        <Popover text={(conversation.assignee_id && people.get(conversation.assignee_id)) || 'Assign'} class="assign">
          {(close) => (
            <div class="entries">
              {[...people, ['', 'Nobody'] as const].map(([id, name]) => (
                <Entry key={id} chosen={id === (conversation.assignee_id ?? '')} onPick={() => (close(), void assign(conversation, id || null, name))}>
                  {name}
                </Entry>
              ))}
            </div>
          )}
        </Popover>
      )}
      {(state === 'open' || state === 'automatic') && (
        <Button kind="quiet" onClick={() => toggleKind(conversation)}>
          {state === 'automatic' ? 'A person wrote it' : 'Automatic'} <Keys of="m" />
        </Button>
      )}
      <TaskButton on={{ kind: 'contacts', id: conversation.contact.id, of: conversation.client_id }} done={done} quiet />
      <NoteButton on={{ kind: 'contacts', id: conversation.contact.id, of: conversation.client_id }} done={done} quiet />
    </>
  );
}

function BlockButton({ conversation }: { conversation: Conversation }) {
  return (
    <Button kind="quiet" class="block" icon="ban" onClick={() => (blocking.value = [conversation])}>
      Block <Keys of="b" />
    </Button>
  );
}
