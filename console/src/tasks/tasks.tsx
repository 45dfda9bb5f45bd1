/** Tasks: what somebody has to do about a contact or company, written in Replies and on the record's page. */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, call, newKey, type Problem } from '../api';
import { readAgain, useGet } from '../data';
import { isMac, useShortcuts } from '../keys';
import { href } from '../route';
import { canWrite, clients, isAdmin, session } from '../session';
import type { Noted } from '../record/notes';
import { kept, put } from '../replies/answer-drafts';
import { usePeople } from '../replies/conversations';
import { TimeMenu } from '../replies/snooze';
import type { Page, Schemas } from '../types';
import { Button, Icon, Keys, ProblemNote, Time } from '../ui/basic';
import { Confirm } from '../ui/confirm';
import { Entry, Popover } from '../ui/overlay';
import { toast, toastProblem } from '../ui/toast';
import { timeOf } from '../when';
import { shortTime } from '../words';

export type Task = Schemas['TaskOut'];
export const TASKS = '/team/v1/tasks';
const MOST = 10_000;

function pathOf({ kind, id, of }: Noted): string {
  return `${TASKS}/${encodeURIComponent(of)}/${kind}/${id}`;
}

/** The record of a task. */
function recordOf({ client_id: of, contact_id, company_id }: Task): Noted {
  return contact_id === null ? { kind: 'companies', id: company_id ?? 0, of } : { kind: 'contacts', id: contact_id, of };
}

function changed({ kind, id }: Noted): Promise<void> {
  return readAgain(TASKS, '/team/v1/counters', `/public/v2/${kind}/${id}/timeline`);
}

async function send(task: Task, body: Schemas['TaskChange']): Promise<Task> {
  const on = recordOf(task);
  try {
    return (await call<Task>('PATCH', `${pathOf(on)}/${task.id}`, { body, headers: { 'if-match': `"${task.version}"` } })).data;
  } finally {
    void changed(on);
  }
}

/** Mark a task as done, or open it again. */
export async function toggle(task: Task): Promise<void> {
  const done = task.done_at === null;
  try {
    const now = await send(task, { done });
    toast(done ? 'The task is done.' : 'The task is open again.', { undo: () => send(now, { done: !done }) });
  } catch (error) {
    toastProblem(error);
  }
}

/** The path of the record whose new task is being written. */
const writing = signal<string | null>(null);

/** The button that begins a task. */
export function TaskButton({ on, quiet, done }: { on: Noted; quiet?: boolean; done?: (() => void) | undefined }) {
  useShortcuts(() => [{ keys: 't', does: 'Write a task', group: 'Tasks', run: () => document.querySelector<HTMLElement>('.task-open')?.click() }]);
  if (!canWrite.value) return null;
  return (
    <Button kind={quiet ? 'quiet' : undefined} class="task-open" icon="check" onClick={() => (done?.(), (writing.value = pathOf(on)))}>
      Task <Keys of="t" />
    </Button>
  );
}

/** The field for a new task, while one is written about this record. */
export function NewTask({ on }: { on: Noted }) {
  const path = pathOf(on);
  useEffect(() => () => {
    if (writing.value === path) writing.value = null;
  }, [path]);
  return writing.value === path ? <TaskForm on={on} close={() => (writing.value = null)} /> : null;
}

function TaskForm({ on, task, close }: { on: Noted; task?: Task; close: () => void }) {
  const path = task ? `${pathOf(on)}/${task.id}` : pathOf(on);
  const draft = `task ${path}`;
  const people = usePeople(on.of);
  const [text, setText] = useState(() => kept(draft) ?? task?.text ?? '');
  const [due, setDue] = useState(() => (task ? new Date(task.due_at) : (timeOf('tomorrow') ?? new Date())));
  const [assignee, setAssignee] = useState(task ? task.assignee_id : (session.value?.user?.id ?? null));
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const request = useRef({ body: '', key: '' });
  useEffect(() => field.current?.focus(), []);
  async function save() {
    if (busy || !text.trim()) return;
    setBusy(true);
    setProblem(null);
    const body = { text, due_at: due.toISOString(), assignee_id: assignee };
    if (request.current.body !== JSON.stringify(body)) request.current = { body: JSON.stringify(body), key: newKey() };
    try {
      if (task) await call('PATCH', path, { body, headers: { 'if-match': `"${task.version}"` } });
      else await call('POST', path, { body, headers: { 'idempotency-key': request.current.key } });
      put(draft, null);
      close();
      toast('The task is saved.');
      void changed(on);
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  }
  return (
    <form
      class="composer note-form"
      aria-label={task ? 'Change the task' : 'New task'}
      onSubmit={(event) => (event.preventDefault(), void save())}
      onKeyDown={(event) => {
        // Keys are an open panel's own.
        if (event.isComposing || document.querySelector(':popover-open')) return;
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) {
          event.preventDefault();
          void save();
        } else if (event.key === 'Escape') {
          event.stopPropagation();
          close();
        }
      }}
    >
      <textarea ref={field} rows={2} maxLength={MOST} dir="auto" aria-label="What is to be done" placeholder="What is to be done" value={text} onInput={(event) => (setText(event.currentTarget.value), put(draft, event.currentTarget.value || null))} />
      <div class="marks">
        <TimeMenu text={`Due ${shortTime(due.toISOString())}`} label="Due at" class="due" pick={setDue} />
        {people.size > 0 && (
          <Popover text={(assignee && people.get(assignee)) || 'Nobody'} label={`Whose task: ${(assignee && people.get(assignee)) || 'nobody'}`} class="assignee">
            {(shut) => (
              <div class="entries">
                {[...people, ['', 'Nobody'] as const].map(([id, name]) => (
                  <Entry key={id} chosen={id === (assignee ?? '')} onPick={() => (shut(), setAssignee(id || null))}>
                    {name}
                  </Entry>
                ))}
              </div>
            )}
          </Popover>
        )}
      </div>
      {problem && <ProblemNote problem={problem} />}
      <div class="marks">
        <Button kind="main" type="submit" busy={busy} disabled={!text.trim()}>
          Save task <kbd>{`${isMac ? '⌘' : 'Ctrl'} Enter`}</kbd>
        </Button>
        <Button kind="quiet" onClick={close}>
          Cancel <kbd>Esc</kbd>
        </Button>
      </div>
    </form>
  );
}

interface LineProps {
  task: Task;
  people: ReadonlyMap<string, string>;
  /** Whether it says what record it is about. */
  isNamed?: boolean;
  chosen?: boolean;
}

/** One task, with the box that marks it as done. */
export function TaskLine({ task, people, isNamed, chosen }: LineProps) {
  const [isOpen, setOpen] = useState(false);
  const [isLeaving, setLeaving] = useState(false);
  const on = recordOf(task);
  const { assignee_id: assignee, done_at: done, author } = task;
  const of = clients.value.find((each) => each.client_id === task.client_id);
  const user = session.value?.user;
  const mayDelete = isAdmin.value || (user ? author.id === user.id : author.type !== 'user');
  const isLate = done === null && Date.parse(task.due_at) < Date.now();
  if (isOpen) return <li><TaskForm on={on} task={task} close={() => setOpen(false)} /></li>;
  return (
    <li class={`line-of short task ${chosen ? 'chosen' : ''}`} aria-current={chosen ? 'true' : undefined}>
      <input type="checkbox" aria-label={`Done: ${task.text.slice(0, 60)}`} checked={done !== null} disabled={!canWrite.value} onChange={() => void toggle(task)} />
      <div class="what">
        <span class={`text-of ${done ? 'faint' : ''}`} dir="auto">{task.text}</span>
        <span class="faint">
          {isNamed && <a href={href(`/${on.kind}/${on.id}`, {}, on.of)} dir="auto">{task.name || `${on.kind === 'contacts' ? 'Contact' : 'Company'} ${on.id}`}</a>}
          {isNamed && clients.value.length > 1 && <span class="chip">{of?.name || of?.handle || task.client_id}</span>}
          <span class={isLate ? 'wrong' : ''}>{isLate && <Icon name="warning" />} due <Time at={task.due_at} /></span>
          {done && <span>done <Time at={done} /></span>}
          {assignee !== null && people.size > 0 && <span>{assignee === user?.id ? 'me' : (people.get(assignee) ?? 'somebody who left')}</span>}
        </span>
      </div>
      {canWrite.value && (
        <div class="tools">
          <Button kind="quiet" icon="edit" label={`Change: ${task.text.slice(0, 60)}`} onClick={() => setOpen(true)} />
          {mayDelete && <Button kind="quiet" icon="close" label={`Delete: ${task.text.slice(0, 60)}`} onClick={() => setLeaving(true)} />}
        </div>
      )}
      {isLeaving && (
        <Confirm
          title="Delete this task?"
          action="Delete task"
          danger
          run={async () => {
            await call('DELETE', `${pathOf(on)}/${task.id}`, { headers: { 'if-match': `"${task.version}"` } });
            toast('The task is deleted.');
            void changed(on);
          }}
          onClose={() => setLeaving(false)}
        >
          <p>It cannot be restored.</p>
        </Confirm>
      )}
    </li>
  );
}

/** The open tasks about a record; nothing if there are none. */
export function TasksOf({ on }: { on: Noted }) {
  const people = usePeople(on.of);
  const { data } = useGet<Page<Task>>(pathOf(on), { limit: '100' });
  if (!data?.data.length) return null;
  return (
    <section aria-labelledby="tasks-of">
      <h2 id="tasks-of">Tasks</h2>
      <ul class="lines">
        {data.data.map((task) => <TaskLine key={task.id} task={task} people={people} />)}
      </ul>
    </section>
  );
}
