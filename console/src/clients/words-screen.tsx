/** What a tool’s words for statuses mean: drag them onto the client’s statuses, or choose from a list. */
import { useRef, useState } from 'preact/hooks';
import { asProblem, call as send, type Problem } from '../api';
import { useRead } from '../data';
import { href } from '../route';
import { isAdmin } from '../session';
import { useTitle } from '../title';
import { Button, Empty, Icon, LoadProblem, ProblemNote, Skeleton } from '../ui/basic';
import { StatusMark } from '../ui/status';
import { toast } from '../ui/toast';
import { NeedsAdmin } from './list';
import { clientPath, connectionPath, connectionsOf } from './requests';
import { folded, readWords, type Found, type Word } from './seen-words';
import { nameOf, TOOLS } from './tools';
import type { Channel, Connection } from './types';

type Labels = Record<string, string | null>;
/** Where a word is: on a status, on none, or as it is. */
type Place = { status: string } | 'none' | 'as it is';

const keyOf = (place: Place) => (typeof place === 'string' ? place : `status ${place.status}`);

/** `of` is the channel and the tool, such as `crm/hubspot`. */
export function Words({ id, of }: { id: string; of: string }) {
  if (!isAdmin.value) return <NeedsAdmin />;
  const [channel, tool = ''] = of.split('/');
  if ((channel !== 'crm' && channel !== 'email_campaign') || !TOOLS[channel][tool]) {
    return (
      <main id="main" class="screen">
        <Empty icon="link" whole title="There is no such tool">
          <a class="button" href={href(`/clients/${id}`)}>
            Show the client
          </a>
        </Empty>
      </main>
    );
  }
  return <WordsOf id={id} channel={channel} tool={tool} />;
}

function WordsOf({ id, channel, tool }: { id: string; channel: Channel; tool: string }) {
  const name = nameOf(channel, tool);
  const loaded = useRead(`${clientPath(id)} words ${channel} ${tool}`, async (signal) => readWords(id, channel, tool, await connectionsOf(id, signal), signal));
  useTitle(`Status mapping of ${name}`);
  return (
    <main id="main" class="screen clients">
      <a class="back" href={href(`/clients/${id}`)}>
        <Icon name="left" /> Client {id}
      </a>
      <header class="screen-head">
        <div class="who">
          <h1>Status mapping of {name}</h1>
          <p class="faint">Drag a word onto the status that it means for this client, or choose the status from its list. A change counts for later webhooks, and for those that are replayed.</p>
        </div>
      </header>
      <LoadProblem of={loaded} />
      {!loaded.data && !loaded.error && <Skeleton lines={10} wide={100} />}
      {loaded.data && <Board id={id} channel={channel} tool={tool} found={loaded.data} reload={() => void loaded.refetch()} />}
    </main>
  );
}

interface BoardProps {
  id: string;
  channel: Channel;
  tool: string;
  found: Found;
  reload: () => void;
}

function Board({ id, channel, tool, found, reload }: BoardProps) {
  const [labels, setLabels] = useState<Labels>(found.connection?.settings.status_labels ?? {});
  const [more, setMore] = useState<Word[]>([]);
  const [problem, setProblem] = useState<Problem | null>(null);
  // An undo, made before the connection was, sends to the connection too.
  const isKnown = useRef(found.connection !== null);
  /** The change before: each sends all words, so that one that overtook another would take it back. */
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const names = found.statuses.map((each) => each.name);
  const targets = [...new Set([...names, ...Object.values(labels).filter((each) => each !== null)])];
  const words = [...found.words, ...more.filter((each) => !found.words.some((known) => folded(known.text) === folded(each.text)))];

  async function store(next: Labels) {
    const before = labels;
    setLabels(next);
    setProblem(null);
    const settings = { status_labels: next };
    const sent = last.current.then(async () => {
      if (isKnown.current) await send<Connection>('PATCH', connectionPath(id, { channel, tool }), { body: { settings } });
      else await send<Connection>('POST', clientPath(id, '/connections'), { body: { channel, tool, settings } });
      isKnown.current = true;
    });
    last.current = sent.catch(() => undefined);
    try {
      await sent;
    } catch (error) {
      setLabels(before);
      throw error;
    }
  }

  async function move(word: string, to: Place) {
    const before = labels;
    const rest = Object.fromEntries(Object.entries(labels).filter(([label]) => folded(label) !== folded(word)));
    const next: Labels = to === 'as it is' ? rest : { ...rest, [word]: to === 'none' ? null : to.status };
    try {
      await store(next);
      const means = to === 'as it is' ? 'stays as it is' : to === 'none' ? 'sets no status' : `means “${to.status}”`;
      toast(`“${word}” ${means}.`, { undo: () => store(before) });
    } catch (error) {
      setProblem(asProblem(error));
    }
  }

  const placeOf = (word: Word): Place => {
    const label = Object.keys(labels).find((each) => folded(each) === folded(word.text));
    const status = label === undefined ? undefined : labels[label];
    return status === undefined ? 'as it is' : status === null ? 'none' : { status };
  };
  const at = (place: Place) => words.filter((each) => keyOf(placeOf(each)) === keyOf(place));
  // A word that was moved by its list is elsewhere on the page then, and the focus goes with it.
  const focused = useRef('');
  const shown = { targets, placeOf, move, focused };
  return (
    <>
      {problem && <ProblemNote problem={problem} retry={reload} />}
      <div class="board">
        <section aria-labelledby="as-it-is">
          <h2 id="as-it-is">As they are</h2>
          <Zone place="as it is" words={at('as it is')} {...shown} empty="Every word that was seen is mapped." />
          <AddWord onAdd={(text) => setMore([...more, { text, from: 'Not seen yet' }])} />
        </section>
        <section aria-labelledby="meaning">
          <h2 id="meaning">The client’s statuses</h2>
          <div class="targets">
            {targets.map((status) => (
              <div key={status} class="target">
                <StatusMark status={status} />
                <Zone place={{ status }} words={at({ status })} {...shown} empty="" />
              </div>
            ))}
            <div class="target">
              <span class="faint">Sets no status</span>
              <Zone place="none" words={at('none')} {...shown} empty="" />
            </div>
          </div>
        </section>
      </div>
    </>
  );
}

interface ZoneProps {
  place: Place;
  words: readonly Word[];
  targets: readonly string[];
  placeOf: (word: Word) => Place;
  move: (word: string, to: Place) => Promise<void>;
  focused: { current: string };
  empty: string;
}

function Zone({ place, words, targets, placeOf, move, focused, empty }: ZoneProps) {
  const [over, setOver] = useState(false);
  return (
    <ul
      class={`zone ${over ? 'over' : ''}`}
      aria-label={typeof place === 'string' ? (place === 'none' ? 'Words that set no status' : 'Words as they are') : `Words that mean ${place.status}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const word = event.dataTransfer?.getData('text/plain') ?? '';
        if (word) void move(word, place);
      }}
    >
      {words.map((each) => (
        <li key={each.text} class="word" draggable onDragStart={(event) => event.dataTransfer?.setData('text/plain', each.text)} title={each.from}>
          <span class="cut" dir="auto">
            {each.text}
          </span>
          <select
            ref={(element) => {
              if (!element || focused.current !== each.text) return;
              focused.current = '';
              element.focus();
            }}
            aria-label={`Status for the word ${each.text}`}
            value={keyOf(placeOf(each))}
            onChange={(event) => {
              focused.current = each.text;
              void move(each.text, placeFor(event.currentTarget.value));
            }}
          >
            <option value="as it is">As it is</option>
            <option value="none">Sets no status</option>
            {targets.map((status) => (
              <option key={status} value={`status ${status}`}>
                {status}
              </option>
            ))}
          </select>
          {place === 'as it is' && <span class="faint cut">{each.from}</span>}
        </li>
      ))}
      {words.length === 0 && empty && <li class="faint">{empty}</li>}
    </ul>
  );
}

function placeFor(key: string): Place {
  return key === 'none' || key === 'as it is' ? key : { status: key.slice('status '.length) };
}

function AddWord({ onAdd }: { onAdd: (text: string) => void }) {
  const [text, setText] = useState('');
  return (
    <form
      class="add-word"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) onAdd(text.trim());
        setText('');
      }}
    >
      <input type="text" aria-label="Another word of the tool" placeholder="Another word of the tool" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <Button type="submit" disabled={!text.trim()}>
        Add
      </Button>
    </form>
  );
}
