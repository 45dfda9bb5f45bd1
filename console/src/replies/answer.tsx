/** Answer a reply: the composer, answers on their way, and the link into a tool that takes no answers from here. */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, call, newKey, Problem } from '../api';
import { isMac, useShortcuts } from '../keys';
import { href } from '../route';
import { isAdmin } from '../session';
import type { Schemas } from '../types';
import { Button, Icon, Keys, ProblemNote } from '../ui/basic';
import { copy } from '../ui/overlay';
import { dismiss, toast, toastProblem } from '../ui/toast';
import { count, toolName } from '../words';
import { forget, keep, kept, saveDraft } from './answer-drafts';
import { keyOf, nameOf, pathOf, readConversationsAgain, type Conversation, type WithMessages } from './conversations';
import { useSnippets, type Snippet } from './snippets';

type Answer = Schemas['AnswerOut'];
type Capability = Schemas['ReplyCapabilityOut'];

const MOST = 20_000;
/** The conversation whose composer is open. */
const composing = signal<string | null>(null);

/** What can be answered, how, and what was answered and is not a message yet. */
export function Answering({ conversation, found, finish }: { conversation: Conversation; found: WithMessages; finish: () => void }) {
  const { reply_capability: capability, answers } = found;
  const isOpen = composing.value === keyOf(conversation) && capability.how === 'api';
  useShortcuts(() => [{ keys: 'r', does: 'Answer', group: 'Replies', run: () => document.querySelector<HTMLElement>('.pane .answer-open')?.click() }]);
  useAgain(answers);
  return (
    <footer class="answering">
      {answers.filter(({ state }) => state !== 'sent').map((answer) => <OneAnswer key={answer.id} answer={answer} conversation={conversation} capability={capability} />)}
      {isOpen ? <Composer conversation={conversation} version={found.version} capability={capability} draft={found.draft?.text ?? ''} /> : <How conversation={conversation} capability={capability} finish={finish} />}
    </footer>
  );
}

/** Read again when an answer may have gone out: the worker looks each second. */
function useAgain(answers: readonly Answer[]): void {
  const states = answers.map(({ id, state }) => `${id} ${state}`).join();
  useEffect(() => {
    const due = answers.filter(({ state }) => state === 'queued' || state === 'sending').map(({ send_at }) => (send_at ? Date.parse(send_at) - Date.now() : 0));
    if (!due.length) return;
    // Never more often than each second, and each minute while a tool's limit holds it up.
    const timer = setInterval(() => void readConversationsAgain(), Math.max(1000, Math.min(60_000, Math.min(...due) + 1000)));
    return () => clearInterval(timer);
  }, [states]);
}

/** The button that opens the composer, or where to answer. */
function How({ conversation, capability, finish }: { conversation: Conversation; capability: Capability; finish: () => void }) {
  const [left, setLeft] = useState(false);
  const { how, tool, url, reason, advice, recipient } = capability;
  const toTool = (text: string, key: string, more: string) =>
    url && (
      <a class={`button tool-open ${more}`} href={url} target="_blank" rel="noopener noreferrer" onClick={() => setLeft(true)}>
        <Icon name="open" />
        <span>{text} <Keys of={key} /></span>
      </a>
    );
  const asks = left && conversation.state !== 'done' && (
    <p role="status">
      Answered there?{' '}
      <Button icon="check" onClick={finish}>
        Done <Keys of="e" />
      </Button>
    </p>
  );
  if (how === 'api')
    return (
      <div class="how">
        <Button class="answer-open" icon="reply" onClick={() => (composing.value = keyOf(conversation))}>
          Answer <Keys of="r" />
        </Button>
        {toTool(`Open in ${toolName(tool)}`, 'w', '')}
        <Fact capability={capability} />
        {asks}
      </div>
    );
  if (!capability.message_id) return null;
  return (
    <div class="how">
      {toTool(`Answer in ${toolName(tool)}`, 'r', 'answer-open')}
      <p class="faint">
        {url ? `${new URL(url).host} · ` : recipient ? <><bdi>{recipient}</bdi> <Button kind="quiet" icon="copy" label="Copy the address" onClick={() => void copy(recipient).then(() => toast('The address is copied.'))} /> · </> : ''}
        {`${reason}. ${advice} `}
        {isAdmin.value && reason?.includes('token') && <a href={href(`/clients/${conversation.client_id}`, { connection: `email_campaign/${tool}`, field: 'token' }, conversation.client_id)}>Open its connection</a>}
      </p>
      {asks}
    </div>
  );
}

/** From which mailbox, through which tool and to whom an answer goes. */
function Fact({ capability: { tool, mailbox, recipient, channel } }: { capability: Capability }) {
  return (
    <p class="faint goes">
      {`${channel === 'linkedin' ? 'LinkedIn, through' : 'Through'} ${toolName(tool)}`}
      {mailbox && <> from <bdi>{mailbox}</bdi></>}
      {recipient && <> to <bdi>{recipient}</bdi></>}
    </p>
  );
}

function Composer({ conversation, version, capability, draft }: { conversation: Conversation; version: string; capability: Capability; draft: string }) {
  const key = keyOf(conversation);
  const [text, setText] = useState(() => kept(key) ?? draft);
  const [caret, setCaret] = useState(0);
  const snippets = useSnippets(conversation, text, caret);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  // One for each text: if a response is lost, the same request again queues no second answer.
  const request = useRef({ text: '', key: '' });
  const closes = useRef(true);
  const isBlocked = problem?.body.errors?.some(({ code }) => code === 'blocked') ?? false;
  useEffect(() => {
    field.current?.focus();
    return () => void saveDraft(key).then(() => readConversationsAgain());
  }, []);
  function write(value: string) {
    setText(value);
    keep(conversation, value);
    setProblem(null);
  }
  function insert(snippet: Snippet) {
    if (!field.current) return;
    // At once, or what is typed meanwhile stands in front of the snippet.
    field.current.setRangeText(snippets.filled(snippet), snippets.start, caret, 'end');
    field.current.focus();
    write(field.current.value);
    setCaret(field.current.selectionStart);
  }
  function close() {
    composing.value = null;
    requestAnimationFrame(() => document.querySelector<HTMLElement>('.pane .answer-open')?.focus());
  }
  async function send(isDone: boolean, isConfirmed = false) {
    if (busy || !text.trim()) return;
    closes.current = isDone;
    const body = { message_id: capability.message_id, text, close: isDone, confirm_blocked: isConfirmed };
    if (request.current.text !== JSON.stringify(body)) request.current = { text: JSON.stringify(body), key: newKey() };
    setBusy(true);
    try {
      await saveDraft(key); // or it is stored after the answer, and is a draft again
      const headers = { 'idempotency-key': request.current.key, 'if-match': `"${version}"` };
      const { data } = await call<Answer>('POST', `${pathOf(conversation)}/answers`, { body, headers });
      forget(key);
      if (composing.value === key) composing.value = null;
      said(conversation, data, text);
      void readConversationsAgain();
    } catch (error) {
      const refused = asProblem(error);
      const isOld = refused.status === 412;
      if (isOld) void readConversationsAgain();
      setProblem(isOld ? new Problem(412, refused.code, 'Another reply came in, or somebody changed this conversation. Look at it, then send again.', refused.body) : refused);
    } finally {
      setBusy(false);
    }
  }
  const mod = isMac ? '⌘' : 'Ctrl';
  return (
    <form
      class="composer"
      aria-label={`Answer to ${nameOf(conversation)}`}
      onSubmit={(event) => (event.preventDefault(), void send(true))}
      onKeyDown={(event) => {
        if (event.isComposing) return;
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) {
          event.preventDefault();
          void send(!event.shiftKey);
        } else if (event.key === 'Tab' && !event.shiftKey && snippets.found[0]) {
          event.preventDefault();
          insert(snippets.found[0]);
        } else if (event.key === 'Escape') {
          event.stopPropagation();
          close();
        }
      }}
    >
      <Fact capability={capability} />
      <textarea ref={field} rows={6} maxLength={MOST} aria-label="Your answer, as plain text" dir="auto" value={text} onInput={(event) => (write(event.currentTarget.value), setCaret(event.currentTarget.selectionStart))} onKeyUp={(event) => setCaret(event.currentTarget.selectionStart)} />
      {snippets.found.length > 0 && (
        <div class="marks snippets" role="group" aria-label="Snippets">
          {snippets.found.map((snippet, n) => (
            <Button key={snippet.id} onClick={() => insert(snippet)}>
              /{snippet.name} {n === 0 && <kbd>Tab</kbd>}
            </Button>
          ))}
        </div>
      )}
      {text.length > MOST * 0.9 && <p class="faint">{`${count(MOST - text.length)} characters left`}</p>}
      {problem && !isBlocked && <ProblemNote problem={problem} />}
      {isBlocked && (
        <div class="problem" role="alert">
          <Icon name="warning" />
          <p>{`${nameOf(conversation)} must not be contacted. Send this answer all the same?`}</p>
          <Button kind="danger" onClick={() => void send(closes.current, true)}>Send it</Button>
        </div>
      )}
      <div class="marks">
        <Button kind="main" type="submit" icon="reply" busy={busy} disabled={!text.trim()}>
          Send and close <kbd>{`${mod} Enter`}</kbd>
        </Button>
        <Button onClick={() => void send(false)} disabled={!text.trim() || busy}>
          Send <kbd>{`${mod} Shift Enter`}</kbd>
        </Button>
        <Button kind="quiet" onClick={close}>
          Keep as draft <kbd>Esc</kbd>
        </Button>
      </div>
    </form>
  );
}

/** Say that an answer goes out, with the way back for as long as there is one. */
function said(conversation: Conversation, answer: Answer, text: string): void {
  const wait = answer.send_at ? Math.max(0, Date.parse(answer.send_at) - Date.now()) : 0;
  const id = toast(`The answer to ${nameOf(conversation)} goes out in ${Math.round(wait / 1000)} seconds.`, { stays: true, undo: () => takeBack(conversation, answer, text) });
  setTimeout(() => dismiss(id), wait);
}

/** Take an answer back; its text is a draft again. */
async function takeBack(conversation: Conversation, answer: Answer, text: string): Promise<void> {
  await call('DELETE', `${pathOf(conversation)}/answers/${answer.id}`);
  if (text && !kept(keyOf(conversation))) keep(conversation, text);
  void readConversationsAgain();
}

const SAID: Record<string, string> = { queued: 'Goes out', sending: 'Is being sent', failed: 'Not sent', unknown: 'Perhaps sent' };

function OneAnswer({ answer, conversation, capability }: { answer: Answer; conversation: Conversation; capability: Capability }) {
  const { state, text, reason } = answer;
  const isOver = state === 'failed' || state === 'unknown';
  const remove = (isEdited: boolean) =>
    void takeBack(conversation, answer, isEdited ? text : '')
      .then(() => isEdited && (composing.value = keyOf(conversation)))
      .catch(toastProblem);
  return (
    <div class="answer" aria-label={`Answer: ${SAID[state]}`} role="group">
      <p class="line">
        <span class="strong">{SAID[state]}</span>
        {state === 'queued' && <Countdown at={answer.send_at} />}
      </p>
      <p class="text-of" dir="auto">{text}</p>
      {reason && <p>{reason[0]?.toUpperCase() + reason.slice(1)}.</p>}
      <div class="marks">
        {state === 'queued' && <Button icon="undo" onClick={() => remove(true)}>Take back</Button>}
        {isOver && capability.url && (
          <a class="button" href={capability.url} target="_blank" rel="noopener noreferrer">
            <Icon name="open" />
            <span>{`Check in ${toolName(answer.tool)}`}</span>
          </a>
        )}
        {isOver && <Button icon="edit" onClick={() => remove(true)}>{state === 'unknown' ? 'It is not there: write it again' : 'Edit and send again'}</Button>}
        {isOver && <Button kind="quiet" onClick={() => remove(false)}>{state === 'unknown' ? 'It was sent' : 'Remove'}</Button>}
      </div>
    </div>
  );
}

function Countdown({ at }: { at: string | null }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = at ? Math.max(0, Math.ceil((Date.parse(at) - now) / 1000)) : 0;
  return <span class="faint">{seconds ? `in ${seconds} s` : 'now'}</span>;
}
