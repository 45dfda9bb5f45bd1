/** The timeline as a story: one sentence for each event, days between them. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { asProblem, get, post } from '../api';
import { readAgain, useGet, usePages, useRead } from '../data';
import { memberName } from '../kinds/kind';
import { Letter } from '../replies/letter';
import { canWrite } from '../session';
import type { Change, Message, Moment, Page } from '../types';
import { Button, ProblemNote, Skeleton, Time } from '../ui/basic';
import { StatusMark } from '../ui/status';
import { toast } from '../ui/toast';
import { fullTime, shortTime } from '../words';
import { Note, type Noted } from './notes';
import { OwnerName } from './owner';
import { sentence } from './sentences';
import { Source } from './source';

const HUES: readonly (readonly [RegExp, string])[] = [
  [/replied/, 'green'],
  [/bounce|complaint|unsubscribe|deleted|failed/, 'red'],
  [/sent|delivered/, 'blue'],
  [/opened|clicked/, 'teal'],
];

function hue(event: string): string {
  return HUES.find(([pattern]) => pattern.test(event))?.[1] ?? 'grey';
}

/** Replies that are open when the page is shown; older ones are folded. */
const OPEN = '20';

/** The newest texts that a contact wrote, by id: one request, and nothing moves when they come. */
function useReplies(path: string, { kind, id }: Noted) {
  const read = async (signal: AbortSignal) => {
    const page = await get<Page<Message>>('/public/v2/messages', { contact_id: `${id}`, direction: 'received', limit: OPEN }, signal).catch(() => ({ data: [] }));
    return new Map(page.data.map((message) => [message.id, message]));
  };
  const found = useRead(`${path} replies`, read, { enabled: kind === 'contacts' });
  return kind === 'contacts' ? found.data : new Map<number, Message>();
}

export function Story({ api, id, on }: { api: string; id: string; on: Noted }) {
  const path = `${api}/${encodeURIComponent(id)}/timeline`;
  const { data: moments, error, hasMore, more, refetch } = usePages<Moment>(path, { limit: '50' });
  const replies = useReplies(path, on);
  if (error && !moments) return <ProblemNote problem={error} retry={refetch} />;
  if (!moments || !replies) return <Skeleton lines={6} wide={80} />;
  if (!moments.length) return <p class="faint">Nothing has been reported yet. Emails, replies and changes appear here as tools report them.</p>;
  return (
    <>
      <ol class="story">
        {moments.map((each, n) => (
          <Chapter key={`${each.occurred_at} ${each.event} ${each.note?.id ?? n}`} moment={each} path={`${api}/${encodeURIComponent(id)}`} on={on} reply={replies.get(each.message_id ?? 0)} />
        ))}
      </ol>
      {hasMore && <Button onClick={more}>Show what came before</Button>}
      {error && <ProblemNote problem={error} retry={refetch} />}
    </>
  );
}

function Chapter({ moment, path, on, reply }: { moment: Moment; path: string; on: Noted; reply: Message | undefined }) {
  const status = moment.changed.find((each) => each.field === 'contact_status');
  const others = moment.changed.filter((each) => each.field !== 'contact_status' && !/_(sent|received)$/.test(each.field));
  return (
    <li class={`hue-${hue(moment.event)}`}>
      <span class="point" aria-hidden="true" />
      <time class="when" dateTime={moment.occurred_at} title={fullTime(moment.occurred_at)}>
        {shortTime(moment.occurred_at)}
      </time>
      <div class="what">
        <p>
          {sentence(moment.event)}
          {status && (
            <span class="became">
              {status.previous !== null && <StatusMark status={status.previous} />}
              {status.previous !== null && <span aria-label="became">→</span>}
              <StatusMark status={status.value} />
            </span>
          )}
        </p>
        <Source by={moment} timed={false} />
        {moment.merged && <Merged of={moment.merged} path={path} isByTool={moment.delivery_id !== null} />}
        {moment.note && <Note on={on} note={moment.note} by={moment.actor} />}
        {moment.task && (
          <p class="text-of" dir="auto">
            {moment.task.text} <span class="faint">{moment.task.done_at ? 'done' : 'due'} <Time at={moment.task.done_at ?? moment.task.due_at} /></span>
          </p>
        )}
        {reply && moment.event !== 'email_auto_replied' ? <MessageText message={reply} /> : moment.message_id && <Said id={moment.message_id} />}
        {others.length > 0 && <Changes of={others} />}
        {moment.problems.map((each) => (
          <p key={each.code} class="wrong">
            {each.detail}
          </p>
        ))}
      </div>
    </li>
  );
}

/** Which records became part of this one, and the way back. */
function Merged({ of, path, isByTool }: { of: NonNullable<Moment['merged']>; path: string; isByTool: boolean }) {
  const records = `${of.records.length === 1 ? 'Record' : 'Records'} ${of.records.join(', ')}`;
  const undo = async () => {
    try {
      await post(`${path}/merge/${of.merge_id}/undo`);
      toast('The merge is undone.');
      await readAgain(path);
    } catch (error) {
      toast(asProblem(error).message, { bad: true });
    }
  };
  return (
    <>
      <p>
        {of.undone ? `The merge of ${records.toLowerCase()} into this one was undone.` : `${records} became part of this one.`}
        {isByTool && ' The tool named both as one person or company, so there is no undo: the next event would join them again.'}
      </p>
      {of.merge_id !== null && !of.undone && canWrite.value && (
        <Button icon="undo" onClick={undo}>
          Separate them again
        </Button>
      )}
    </>
  );
}

/** The text of the message that an event brought; it is asked for when it is unfolded. */
function Said({ id }: { id: number }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => event.currentTarget.open && setOpen(true)}>
      <summary>The message</summary>
      {open && <MessageById id={id} />}
    </details>
  );
}

function MessageById({ id }: { id: number }) {
  const { data: value, error: problem, refetch: reload } = useGet<Message>(`/public/v2/messages/${id}`);
  if (problem) return problem.status === 404 ? <p class="faint">{problem.message}</p> : <ProblemNote problem={problem} retry={reload} />;
  return value ? <MessageText message={value} /> : <Skeleton lines={2} />;
}

function MessageText({ message: { subject, text } }: { message: Message }) {
  return (
    <>
      {subject && (
        <p class="subject" dir="auto">
          {subject}
        </p>
      )}
      {text ? <Letter text={text} /> : <p class="faint">No text is stored: the tool sent none, or the client’s setting store_message_bodies is off.</p>}
    </>
  );
}

function shown(field: string, value: string | null): ComponentChildren {
  return field === 'owner_id' && value ? <OwnerName id={value} /> : value;
}

function Changes({ of }: { of: readonly Change[] }) {
  const rows: ComponentChildren = of.map((each) => (
    <div key={each.field}>
      <dt>{/^[a-z_]+$/.test(each.field) ? memberName(each.field) : each.field}</dt>
      <dd>
        {each.previous !== null && each.previous !== each.value && <s>{shown(each.field, each.previous)}</s>} {shown(each.field, each.value) ?? <span class="absent">removed</span>}
        {each.former_name && <span class="faint"> {each.previous === each.value ? 'renamed from' : 'as'} {each.former_name}</span>}
      </dd>
    </div>
  ));
  if (of.length <= 2) return <dl class="changes">{rows}</dl>;
  return (
    <details>
      <summary>{of.length} fields</summary>
      <dl class="changes">{rows}</dl>
    </details>
  );
}

