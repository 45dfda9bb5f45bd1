/** Tasks of one client or of all: one's own, all, and what is done; by the time when they are due. */
import { useEffect, useState } from 'preact/hooks';
import { usePages } from '../data';
import { useShortcuts } from '../keys';
import { client, go, href, place } from '../route';
import { canWrite, session } from '../session';
import { useCounters, usePeople } from '../replies/conversations';
import { useTitle } from '../title';
import { Button, Empty, ProblemNote, Skeleton } from '../ui/basic';
import { TaskLine, TASKS, toggle, type Task } from './tasks';

interface Tab {
  name: string;
  text: string;
  query: Record<string, string>;
}

/** The lists of tasks; only people have ones of their own. */
function tabs(): readonly Tab[] {
  const all = { name: 'all', text: session.value?.user ? 'All' : 'Open', query: {} };
  const done = { name: 'done', text: 'Done', query: { state: 'done' } };
  return session.value?.user ? [{ name: 'mine', text: 'Mine', query: { assignee_id: 'me' } }, all, done] : [all, done];
}

/** Tasks under the names of their times; done ones are not divided. */
function groupsOf(tasks: readonly Task[], isDone: boolean, now = new Date()): readonly (readonly [string, readonly Task[]])[] {
  if (isDone) return [['Done', tasks]];
  const ends = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1);
  const of = ({ due_at }: Task) => (new Date(due_at) < now ? 'Overdue' : new Date(due_at) < ends ? 'Today' : 'Later');
  return ['Overdue', 'Today', 'Later'].map((name) => [name, tasks.filter((task) => of(task) === name)] as const).filter(([, group]) => group.length > 0);
}

/** What the shortcuts act on. */
const latest: { all: readonly Task[]; at: number; choose: (at: number) => void } = { all: [], at: -1, choose: () => undefined };

export function Tasks() {
  const all = tabs();
  const tab = all.find(({ name }) => name === place.value.query.get('show')) ?? all[0];
  const isDone = tab?.name === 'done';
  const people = usePeople();
  const { data, error, hasMore, more, refetch } = usePages<Task>(TASKS, { ...tab?.query, ...(client.value && { client_id: client.value }), limit: '100' });
  const [at, setAt] = useState(-1);
  const groups = groupsOf(data ?? [], isDone);
  const shown = groups.flatMap(([, tasks]) => tasks);
  const chosen = shown[Math.min(at, shown.length - 1)];
  Object.assign(latest, { all: shown, at: Math.min(at, shown.length - 1), choose: setAt });
  useTitle('Tasks', useCounters(client.value).data?.tasks_due);
  useEffect(() => setAt(-1), [tab?.name]);
  useEffect(() => document.querySelector('.task.chosen')?.scrollIntoView({ block: 'nearest' }), [chosen?.id]);
  useTaskKeys();
  // A client before its first webhook.
  const isNone = error?.status === 404 || data?.length === 0;
  return (
    <main id="main" class="screen clients">
      <header class="screen-head">
        <h1>Tasks</h1>
        <div class="switch" role="group" aria-label="Which tasks">
          {all.map(({ name, text }, n) => (
            <button key={name} type="button" aria-pressed={name === tab?.name} onClick={() => go('/tasks', n ? { show: name } : {})}>
              {text}
            </button>
          ))}
        </div>
      </header>
      {error && !isNone && <ProblemNote problem={error} retry={refetch} />}
      {!data && !error && <Skeleton lines={8} wide={90} />}
      {isNone && (
        <Empty icon="check" title={isDone ? 'Nothing is done yet' : 'No open task'}>
          <p>A task is written where its contact is: in <a href={href('/replies')}>Replies</a> or on the record’s page, by <kbd>t</kbd>.</p>
        </Empty>
      )}
      {groups.map(([name, tasks]) => (
        <section key={name} class="tasks" aria-labelledby={`tasks-${name}`}>
          <h2 id={`tasks-${name}`}>{name}</h2>
          <ul class="lines">
            {tasks.map((task) => <TaskLine key={`${task.client_id} ${task.id}`} task={task} people={people} isNamed chosen={task === chosen} />)}
          </ul>
        </section>
      ))}
      {hasMore && <Button onClick={more}>Show more</Button>}
    </main>
  );
}

function useTaskKeys(): void {
  useShortcuts(() => {
    const group = 'Tasks';
    const by = (step: number) => () => latest.choose(Math.max(0, Math.min(latest.all.length - 1, latest.at + step)));
    const on = (act: (task: Task) => unknown) => () => {
      const task = latest.all[latest.at];
      if (task) act(task);
    };
    const open = on(() => document.querySelector<HTMLElement>('.task.chosen a')?.click());
    return [
      { keys: 'j', does: 'Next task', group, run: by(1) },
      { keys: 'ArrowDown', does: 'Next task', group, run: by(1) },
      { keys: 'k', does: 'Previous task', group, run: by(-1) },
      { keys: 'ArrowUp', does: 'Previous task', group, run: by(-1) },
      { keys: 'o', does: 'Open the record', group, run: open },
      { keys: 'Enter', does: 'Open the record', group, run: open },
      ...(canWrite.value ? [{ keys: 'e', does: 'Done, or open again', group, run: on((task) => void toggle(task)) }] : []),
    ];
  });
}
