/** The views: usual ones, and those that were kept under a name in this browser. */
import { useState } from 'preact/hooks';
import type { AnyRecord, Kind } from '../kinds/kind';
import { href } from '../route';
import { Button, Icon } from '../ui/basic';
import { copy, Dialog, Entry, Popover } from '../ui/overlay';
import { toast } from '../ui/toast';
import { LONGEST, removeView, renameView, savedViews, saveView, whyNotKept, type SavedView } from './saved';
import { pairs, viewOf, type View } from './view';

interface Props<R extends AnyRecord> {
  kind: Kind<R>;
  view: View;
}

export function Views<R extends AnyRecord>({ kind, view }: Props<R>) {
  const [asks, setAsks] = useState<'save' | 'edit' | null>(null);
  const saved = savedViews(kind.many);
  const address = pairs(kind, view).join('&');
  const isShown = (query: readonly (readonly [string, string])[]) => pairs(kind, viewOf(kind, new URLSearchParams(query.map(([name, value]) => [name, value])))).join('&') === address;
  return (
    <>
      <Popover text="Views" label="Views" icon="views" kind="quiet">
        {(close) => (
          <div class="entries">
            {kind.views.map((each) => (
              <ViewLink key={each.name} path={kind.path} name={each.name} query={Object.entries(each.query)} chosen={isShown(Object.entries(each.query))} close={close} />
            ))}
            {saved.length > 0 && <p class="note heading">Kept in this browser</p>}
            {saved.map((each) => (
              <ViewLink key={`saved ${each.name}`} path={kind.path} name={each.name} query={each.query} chosen={isShown(each.query)} close={close} />
            ))}
            <hr />
            <Entry
              icon="plus"
              onPick={() => {
                close();
                setAsks('save');
              }}
            >
              Save view…
            </Entry>
            {saved.length > 0 && (
              <Entry
                icon="edit"
                onPick={() => {
                  close();
                  setAsks('edit');
                }}
              >
                Rename or remove views…
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
      {asks === 'edit' && <Edit kind={kind} onClose={() => setAsks(null)} />}
    </>
  );
}

interface LinkProps {
  path: string;
  name: string;
  query: readonly (readonly [string, string])[];
  chosen: boolean;
  close: () => void;
}

function ViewLink({ path, name, query, chosen, close }: LinkProps) {
  return (
    <a class="entry" href={href(path, query)} onClick={close} aria-current={chosen ? 'true' : undefined}>
      <span class="tick">{chosen && <Icon name="check" />}</span>
      <span class="cut">{name}</span>
    </a>
  );
}

const WHERE = 'It is kept in this browser, for this client. To share a view, send its address.';

function Save<R extends AnyRecord>({ kind, view, onClose }: Props<R> & { onClose: () => void }) {
  const [name, setName] = useState('');
  const [wrong, setWrong] = useState('');
  const known = savedViews(kind.many).some((each) => each.name === name.trim());
  function save(event: Event) {
    event.preventDefault();
    const why = whyNotKept(kind.many, name.trim());
    setWrong(why);
    if (why) return;
    saveView(kind.many, { name: name.trim(), query: pairs(kind, view) });
    onClose();
    toast(`The view “${name.trim()}” is kept. It is under Views.`);
  }
  return (
    <Dialog title="Save view" onClose={onClose}>
      <form class="stack" onSubmit={save}>
        <label>
          Name
          <input type="text" autofocus required maxLength={LONGEST} value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        {wrong && (
          <p class="wrong" role="alert">
            {wrong}
          </p>
        )}
        <p class="faint">{known ? 'There is a view of this name; it will be replaced.' : `Filters, order and columns. ${WHERE}`}</p>
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="main">
            {known ? 'Replace' : 'Keep'}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function Edit<R extends AnyRecord>({ kind, onClose }: { kind: Kind<R>; onClose: () => void }) {
  return (
    <Dialog title="Views of this browser" onClose={onClose}>
      <p class="faint">{WHERE}</p>
      <ul class="saved">
        {savedViews(kind.many).map((each) => (
          <One key={each.name} many={kind.many} view={each} done={onClose} />
        ))}
      </ul>
    </Dialog>
  );
}

/** One kept view; what was done is said after the dialog, where the message can be reached. */
function One({ many, view, done }: { many: string; view: SavedView; done: () => void }) {
  const [name, setName] = useState(view.name);
  const [wrong, setWrong] = useState('');
  function rename(event: Event) {
    event.preventDefault();
    const next = name.trim();
    if (next === view.name) return;
    const why = savedViews(many).some((each) => each.name === next) ? `There is a view “${next}” already.` : whyNotKept(many, next, view.name);
    setWrong(why);
    if (why) return;
    renameView(many, view.name, next);
    done();
    toast(`The view “${view.name}” is called “${next}” now.`);
  }
  function remove() {
    removeView(many, view.name);
    done();
    toast(`The view “${view.name}” is removed.`, { undo: () => Promise.resolve(saveView(many, view)) });
  }
  return (
    <li>
      <form onSubmit={rename}>
        <input type="text" aria-label={`Name of ${view.name}`} required maxLength={LONGEST} value={name} onInput={(event) => setName(event.currentTarget.value)} />
        <Button type="submit" disabled={!name.trim() || name.trim() === view.name}>
          Rename
        </Button>
        <Button kind="quiet" icon="close" label={`Remove ${view.name}`} onClick={remove} />
        {wrong && (
          <p class="wrong" role="alert">
            {wrong}
          </p>
        )}
      </form>
    </li>
  );
}
