/** Pairs of records that may be one: scored, with reasons, side by side, merged or said to be two. */
import { useRef, useState } from 'preact/hooks';
import { useShortcuts } from '../keys';
import { COMPANIES } from '../kinds/company';
import { CONTACTS } from '../kinds/contact';
import type { AnyRecord, Kind } from '../kinds/kind';
import { client, go, href, place } from '../route';
import { canWrite, clients, showsAll } from '../session';
import { useTitle } from '../title';
import { Button, Empty, Icon, Keys, ProblemNote, Skeleton } from '../ui/basic';
import { ClientChip } from '../ui/client-chip';
import { useRows } from '../ui/rows';
import { StatusMark } from '../ui/status';
import { toast, toastProblem } from '../ui/toast';
import { plural } from '../words';
import { MergeDialog } from './merge';
import { setDistinct, usePairs } from './search';
import { REASONS, type Pair } from './types';

const SCORES = [
  ['0.9', '90 % or more'],
  ['', '80 % or more'],
  ['0.7', '70 % or more'],
  ['0.5', '50 % or more'],
] as const;

export function Duplicates() {
  const of = place.value.query.get('of');
  return of === 'companies' ? <Pairs key={`${client.value} companies`} kind={COMPANIES} /> : <Pairs key={`${client.value} contacts`} kind={CONTACTS} />;
}

function show(changed: Record<string, string>): void {
  go('/duplicates', { ...Object.fromEntries(place.value.query), ...changed }, true);
}

function Pairs<R extends AnyRecord>({ kind }: { kind: Kind<R> }) {
  const { query } = place.value;
  const score = query.get('score') ?? '';
  const reason = query.get('reason') ?? '';
  const hidden = query.get('two') === '1';
  const searched = showsAll.value ? clients.value.map((each) => each.client_id) : [undefined];
  const found = usePairs(kind, showsAll.value, `${client.value} ${kind.many} ${score} ${reason} ${hidden}`, score || '0.8', (pair) => hidden || !reason || pair.reasons.includes(reason), hidden && searched);
  const { pairs } = found;
  const [at, setAt] = useState(0);
  const [opened, setOpened] = useState<Pair<R> | null>(null);
  const chosen = Math.min(at, Math.max(0, pairs.length - 1));
  const rows = useRows<HTMLUListElement>();
  useTitle('Duplicates');

  async function say(pair: Pair<R>, are: boolean) {
    const hadFocus = rows.ref.current?.contains(document.activeElement);
    found.leave(pair);
    if (hadFocus) requestAnimationFrame(() => now.current.move(0));
    try {
      await setDistinct(kind.many, pair, are);
      toast(are ? 'They are two from now on, for everybody.' : 'The pair may be in the list again.', { undo: () => setDistinct(kind.many, pair, !are).then(found.reload) });
    } catch (error) {
      toastProblem(error);
      found.reload();
    }
  }
  const now = useRef({ move: (_: number) => undefined as void, open: () => undefined as void, two: () => undefined as void });
  now.current = {
    move: (step) => {
      const row = rows.ref.current?.children[Math.max(0, Math.min(pairs.length - 1, chosen + step))];
      if (!row?.contains(document.activeElement)) row?.querySelector('a')?.focus();
    },
    open: () => canWrite.value && setOpened(pairs[chosen] ?? null),
    two: () => {
      const pair = pairs[chosen];
      if (pair && canWrite.value) void say(pair, !hidden);
    },
  };
  useShortcuts(() => [
    { keys: 'j', does: 'Next pair', group: 'Duplicates', run: () => now.current.move(1) },
    { keys: 'ArrowDown', does: 'Next pair', group: 'Duplicates', run: () => now.current.move(1) },
    { keys: 'k', does: 'Previous pair', group: 'Duplicates', run: () => now.current.move(-1) },
    { keys: 'ArrowUp', does: 'Previous pair', group: 'Duplicates', run: () => now.current.move(-1) },
    { keys: 'm', does: 'Compare and merge', group: 'Duplicates', run: () => now.current.open() },
    { keys: 'n', does: 'Not the same', group: 'Duplicates', run: () => now.current.two() },
  ]);

  return (
    <main id="main" class="screen duplicates">
      <header class="screen-head">
        <div class="who">
          <h1>Duplicates</h1>
          <p class="faint">Pairs that may be one {kind.one === 'contact' ? 'person' : 'company'}, by names, addresses and domains. A merge can be undone.</p>
        </div>
        <span class="push" />
        <div class="switch" role="group" aria-label="Kind of record">
          {[CONTACTS, COMPANIES].map((each) => (
            <button key={each.many} type="button" aria-pressed={each.many === kind.many} onClick={() => go('/duplicates', each.many === 'companies' ? { of: 'companies' } : {})}>
              {each.title}
            </button>
          ))}
        </div>
      </header>
      <div class="filters">
        <Select label="Score" value={score} options={SCORES} pick={(value) => show({ score: value })} />
        <Select label="Reason" value={reason} options={[['', 'Any reason'], ...Object.entries(REASONS)]} pick={(value) => show({ reason: value })} />
        <Select label="Pairs" value={hidden ? '1' : ''} options={[['', 'To decide'], ['1', 'Not the same']]} pick={(value) => show({ two: value })} />
      </div>
      <ul class="pairs-list" {...rows} aria-label="Possible duplicates">
        {pairs.map((each, n) => (
          <OnePair key={`${each.of} ${each.one.id} ${each.other.id}`} kind={kind} pair={each} at={n === chosen} hidden={hidden} choose={() => setAt(n)} open={() => setOpened(each)} say={(are) => void say(each, are)} />
        ))}
      </ul>
      {found.problem && <ProblemNote problem={found.problem} retry={found.pairs.length ? found.more : found.reload} />}
      {found.loading && <Skeleton lines={3} wide={90} />}
      {!found.loading && !found.problem && pairs.length === 0 && <None kind={kind} hidden={hidden} isEnd={!found.next} filtered={score !== '0.5' || reason !== ''} />}
      <p class="after" role="status">
        {!found.loading && pairs.length > 0 && (found.next ? `${plural(pairs.length, 'pair')} so far. ` : `${plural(pairs.length, 'pair')}${hidden ? '' : `: all ${kind.many} were compared`}.`)}
        {!found.loading && found.next && <Button onClick={found.more}>Search on</Button>}
      </p>
      {opened && (
        <MergeDialog
          kind={kind}
          one={opened.one}
          other={opened.other}
          of={opened.of}
          onClose={() => setOpened(null)}
          onMerged={(_, gone) => found.without(gone)}
          onUndone={found.reload}
        />
      )}
    </main>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  pick: (value: string) => void;
}

function Select({ label, value, options, pick }: SelectProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => pick(event.currentTarget.value)}>
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  );
}

function None({ kind, hidden, isEnd, filtered }: { kind: { one: string; many: string }; hidden: boolean; isEnd: boolean; filtered: boolean }) {
  if (hidden) {
    return (
      <Empty icon="merge" title="None of these pairs was said to be two">
        <p>“Not the same” puts a pair here, for everybody. From here it comes back.</p>
      </Empty>
    );
  }
  return (
    <Empty icon="check" title={isEnd ? `No two ${kind.many} look like one` : 'No pair so far'}>
      <p>
        {isEnd ? 'All' : 'Some'} {kind.many} were compared by names, addresses and domains.{filtered && ' A lower score or any reason may find more.'}
      </p>
    </Empty>
  );
}

interface OneProps<R extends AnyRecord> {
  kind: Kind<R>;
  pair: Pair<R>;
  at: boolean;
  hidden: boolean;
  choose: () => void;
  open: () => void;
  say: (are: boolean) => void;
}

function OnePair<R extends AnyRecord>({ kind, pair, at, hidden, choose, open, say }: OneProps<R>) {
  const names = [pair.one, pair.other].map(kind.nameOf).join(' and ');
  return (
    <li class="pair-of" aria-current={at ? 'true' : undefined} onMouseDown={choose} onFocusIn={choose}>
      <span class="score">
        {!hidden && (
          <>
            <b>{Math.round(pair.score * 100)} %</b>
            <span class="track" aria-hidden="true">
              <span style={{ width: `${pair.score * 100}%` }} />
            </span>
          </>
        )}
      </span>
      {[pair.one, pair.other].map((each) => (
        <span key={each.id} class="one">
          <a class="strong cut" dir="auto" href={href(`${kind.path}/${each.id}`, {}, pair.of)}>
            {kind.nameOf(each)}
          </a>
          <span class="faint cut" dir="auto">
            <ClientChip of={pair.of} /> {kind.below(each) || `Id ${each.id}`}
          </span>
          <StatusMark status={kind.statusOf(each)} />
        </span>
      ))}
      <span class="reasons">
        {pair.reasons.map((each) => (
          <span key={each} class={each === 'other_linkedin' ? 'against' : ''}>
            {each === 'other_linkedin' && <Icon name="warning" />}
            {REASONS[each] ?? each}
          </span>
        ))}
      </span>
      {canWrite.value && (
        <span class="tools">
          <Button kind={at && !hidden ? 'main' : undefined} onClick={open}>
            Compare<span class="hidden"> {names}</span> {at && <Keys of="m" />}
          </Button>
          <Button onClick={() => say(!hidden)}>
            {hidden ? 'May be the same' : 'Not the same'}<span class="hidden">: {names}</span> {at && <Keys of="n" />}
          </Button>
        </span>
      )}
    </li>
  );
}
