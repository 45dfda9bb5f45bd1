/** The views of a list: usual ones, and those that the person or the team has saved. */
import { useState } from 'preact/hooks';
import { asProblem } from '../api';
import type { AnyRecord, Kind } from '../kinds/kind';
import { go, href } from '../route';
import { canWrite, seesEveryClient } from '../session';
import { Button, Icon } from '../ui/basic';
import { copy, Dialog, Entry, Popover } from '../ui/overlay';
import { toast, toastProblem } from '../ui/toast';
import { plural } from '../words';
import { browserViews, forget, saveAll } from './browser';
import { addressOf, changeView, contentOf, keyOf, LONGEST, mayChange, removeView, savedOf, savedViews, saveView, setDefault, type SavedView } from './saved';
import { pairs, viewOf, type View } from './view';

interface Props<R extends AnyRecord> {
  kind: Kind<R>;
  view: View;
}

type Asks = 'save' | 'edit' | null;

export function Views<R extends AnyRecord>({ kind, view }: Props<R>) {
  const [asks, setAsks] = useState<Asks>(null);
  const own = savedViews.value.filter((each) => each.kind === kind.one);
  const shown = savedOf(view.saved);
  const address = pairs(kind, { ...view, saved: '' }).join('&');
  const isShown = (query: readonly (readonly [string, string])[]) => !view.saved && pairs(kind, viewOf(kind, new URLSearchParams(query.map(([name, value]) => [name, value])))).join('&') === address;
  const groups = [['My views', own.filter((each) => each.visibility === 'private')], ['Shared views', own.filter((each) => each.visibility === 'shared')]] as const;
  return (
    <>
      <Popover text="Views" label="Views" icon="views" kind="quiet">
        {(close) => (
          <div class="entries">
            {kind.views.map((each) => (
              <ViewLink key={each.name} path={kind.path} name={each.name} query={Object.entries(each.query)} chosen={isShown(Object.entries(each.query))} close={close} />
            ))}
            {groups.map(([title, views]) => views.length > 0 && (
              <>
                <p class="note heading">{title}</p>
                {views.map((each) => (
                  <ViewLink key={keyOf(each)} path={kind.path} name={each.name} query={addressOf(each)} chosen={keyOf(each) === view.saved} close={close} />
                ))}
              </>
            ))}
            <hr />
            {canWrite.value && <Entry icon="plus" onPick={() => (close(), setAsks('save'))}>Save view…</Entry>}
            {canWrite.value && own.some(mayChange) && <Entry icon="edit" onPick={() => (close(), setAsks('edit'))}>Rename, share or remove views…</Entry>}
            {shown && (
              <Entry chosen={shown.is_default} onPick={() => (close(), void setDefault(shown, !shown.is_default).catch(toastProblem))}>
                Begin with “{shown.name}”
              </Entry>
            )}
            <Entry
              icon="link"
              onPick={() => {
                close();
                void copy(location.href).then(() => toast('The address of this view is copied: filters, order and columns are in it.'));
              }}
            >
              Copy the address of this view
            </Entry>
          </div>
        )}
      </Popover>
      {asks === 'save' && <Save kind={kind} view={view} onClose={() => setAsks(null)} />}
      {asks === 'edit' && <Edit views={own.filter(mayChange)} onClose={() => setAsks(null)} />}
    </>
  );
}

interface LinkProps {
  path: string;
  name: string;
  query: readonly (readonly [string, string])[] | null;
  chosen: boolean;
  close: () => void;
}

function ViewLink({ path, name, query, chosen, close }: LinkProps) {
  if (!query) return <Entry disabled onPick={close}>{name}: its filters have “any” or “not”, which only requests show</Entry>;
  return (
    <a class="entry" href={href(path, query)} onClick={close} aria-current={chosen ? 'true' : undefined}>
      <span class="tick">{chosen && <Icon name="check" />}</span>
      <span class="cut">{name}</span>
    </a>
  );
}

/** What was changed of the saved view that is shown, and views that an earlier version kept in this browser. */
export function ViewBar<R extends AnyRecord>({ kind, view }: Props<R>) {
  const [asks, setAsks] = useState(false);
  const saved = savedOf(view.saved);
  const address = saved && addressOf(saved);
  const kept = browserViews(kind.many).length;
  const isChanged = address && new URLSearchParams(address).toString() !== new URLSearchParams(pairs(kind, view)).toString();
  const save = () => saved && changeView(saved, contentOf(view, kind.usual)).then(() => toast(`The view “${saved.name}” is saved.`), toastProblem);
  return (
    <>
      {isChanged && (
        <div class="chips" role="group" aria-label={`Changes of ${saved.name}`}>
          <span class="cut">“{saved.name}” is changed</span>
          {canWrite.value && mayChange(saved) && <Button onClick={() => void save()}>Save</Button>}
          {canWrite.value && <Button onClick={() => setAsks(true)}>Save as…</Button>}
          <Button kind="quiet" onClick={() => go(kind.path, address)}>Reset</Button>
        </div>
      )}
      {kept > 0 && canWrite.value && (
        <div class="chips" role="group" aria-label="Views of this browser">
          <span class="cut">{plural(kept, 'view is', 'views are')} in this browser alone.</span>
          <Button onClick={() => void saveAll(kind as unknown as Kind<AnyRecord>).then(() => toast('They are among your views now.'), toastProblem)}>Save to my views</Button>
          <Button kind="quiet" onClick={() => forget(kind.many)}>Remove them</Button>
        </div>
      )}
      {asks && <Save kind={kind} view={view} onClose={() => setAsks(false)} />}
    </>
  );
}

function Save<R extends AnyRecord>({ kind, view, onClose }: Props<R> & { onClose: () => void }) {
  const [name, setName] = useState('');
  const [isShared, setShared] = useState(false);
  const [isOfAll, setOfAll] = useState(false);
  const [wrong, setWrong] = useState('');
  const [busy, setBusy] = useState(false);
  async function save(event: Event) {
    event.preventDefault();
    setBusy(true);
    try {
      const saved = await saveView({ name: name.trim(), kind: kind.one, visibility: isShared ? 'shared' : 'private', ...contentOf(view, kind.usual) }, isOfAll);
      onClose();
      go(kind.path, pairs(kind, { ...view, saved: keyOf(saved) }), true);
      toast(`The view “${saved.name}” is saved. It is below ${kind.title}.`);
    } catch (error) {
      setWrong(asProblem(error).message);
    }
    setBusy(false);
  }
  return (
    <Dialog title="Save view" onClose={onClose}>
      <form class="stack" onSubmit={(event) => void save(event)}>
        <label>
          Name
          <input type="text" autofocus required maxLength={LONGEST} value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label class="check">
          <input type="checkbox" checked={isShared} onChange={(event) => setShared(event.currentTarget.checked)} />
          <span>Share it with the team</span>
        </label>
        <label class="check">
          <input type="checkbox" checked={isOfAll} onChange={(event) => setOfAll(event.currentTarget.checked)} />
          <span>For all clients</span>
        </label>
        {isShared && isOfAll && !seesEveryClient.value && <p class="faint">Who may write for all clients shares views of all.</p>}
        {wrong && <p class="wrong" role="alert">{wrong}</p>}
        <p class="faint">Filters, order, columns with their widths, and layout.</p>
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="main" busy={busy}>Save</Button>
        </footer>
      </form>
    </Dialog>
  );
}

function Edit({ views, onClose }: { views: readonly SavedView[]; onClose: () => void }) {
  return (
    <Dialog title="Views" onClose={onClose}>
      <ul class="saved">
        {views.map((each) => <One key={keyOf(each)} view={each} done={onClose} />)}
      </ul>
    </Dialog>
  );
}

/** One saved view; what was done is said after the dialog, where the message can be reached. */
function One({ view, done }: { view: SavedView; done: () => void }) {
  const [name, setName] = useState(view.name);
  const [wrong, setWrong] = useState('');
  const isShared = view.visibility === 'shared';
  async function act(work: Promise<unknown>, said: string, undo?: () => Promise<unknown>) {
    try {
      await work;
      done();
      toast(said, undo ? { undo } : {});
    } catch (error) {
      setWrong(asProblem(error).message);
    }
  }
  const again = () => saveView({ name: view.name, kind: view.kind, visibility: view.visibility, where: view.where ?? {}, q: view.q ?? '', sort: view.sort ?? '', columns: view.columns ?? [], layout: view.layout ?? 'table', position: view.position }, view.client_id === null);
  return (
    <li>
      <form onSubmit={(event) => (event.preventDefault(), void act(changeView(view, { name: name.trim() }), `The view “${view.name}” is called “${name.trim()}” now.`))}>
        <input type="text" aria-label={`Name of ${view.name}`} required maxLength={LONGEST} value={name} onInput={(event) => setName(event.currentTarget.value)} />
        <Button type="submit" disabled={!name.trim() || name.trim() === view.name}>Rename</Button>
        <Button
          aria-label={`${isShared ? 'Make private' : 'Share'} ${view.name}`}
          onClick={() => void act(changeView(view, { visibility: isShared ? 'private' : 'shared' }), isShared ? `“${view.name}” is seen by its author alone.` : `The team sees “${view.name}”.`)}
        >
          {isShared ? 'Make private' : 'Share'}
        </Button>
        <Button kind="quiet" icon="close" label={`Remove ${view.name}`} onClick={() => void act(removeView(view), `The view “${view.name}” is removed.`, again)} />
        {wrong && <p class="wrong" role="alert">{wrong}</p>}
      </form>
    </li>
  );
}
