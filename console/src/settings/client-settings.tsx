/** The settings of a client, each with what it means and its default. Saving keeps those that are not shown here. */
import { useState } from 'preact/hooks';
import { asProblem, call as send, getForChange, Problem } from '../api';
import { clientPath } from '../clients/requests';
import type { ClientDetail, ClientSettings } from '../clients/types';
import { choosesClient } from '../session';
import { Button, ProblemNote } from '../ui/basic';
import { choosesMine, differencesOf } from '../ui/conflict';
import { toast } from '../ui/toast';
import { plural } from '../words';
import { GROUPS, LIMITS, valueOf, withValue, type Setting, type Value } from './known';

interface Props {
  client: ClientDetail;
  onSaved: () => void;
}

export function SettingsForm({ client, onSaved }: Props) {
  const [changes, setChanges] = useState<Record<string, Value>>({});
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const changed = Object.keys(changes);
  const groups = choosesClient.value ? [...GROUPS, LIMITS] : GROUPS;

  function put(setting: Setting, value: Value) {
    const { [setting.path]: _, ...rest } = changes;
    setChanges(value === valueOf(client.settings, setting.path) ? rest : { ...rest, [setting.path]: value });
  }

  async function save(event: Event) {
    event.preventDefault();
    if (busy || !changed.length) return;
    setBusy(true);
    setProblem(null);
    try {
      // What others have changed since the page was opened stays.
      const { data, unchanged } = await getForChange<ClientDetail>(clientPath(client.client_id));
      const now = data.settings;
      const of = (settings: ClientSettings) => new Map(changed.map((path) => [path, valueOf(settings, path)]));
      const named = new Map(groups.flatMap((group) => group.settings.map((each) => [each.path, each.name] as const)));
      const differences = differencesOf(of(client.settings), new Map(Object.entries(changes)), of(now), (path) => named.get(path) ?? path);
      if (differences.length && !(await choosesMine('Somebody changed the same settings', differences))) {
        setChanges({});
        setBusy(false);
        onSaved();
        return;
      }
      const settings = Object.entries(changes).reduce<ClientSettings>((all, [path, value]) => withValue(all, path, value), now);
      await send('PUT', clientPath(client.client_id), { body: { settings }, headers: unchanged });
      setChanges({});
      onSaved();
      toast('The settings are saved.', {
        undo: async () => {
          const { data, unchanged } = await getForChange<ClientDetail>(clientPath(client.client_id));
          const then = data.settings;
          // What somebody set since then stays.
          const own = Object.entries(changes).filter(([path, value]) => valueOf(then, path) === value);
          if (!own.length) throw new Problem(412, 'precondition_failed', 'Not undone: somebody changed these settings since.');
          const back = own.reduce<ClientSettings>((all, [path]) => withValue(all, path, valueOf(client.settings, path)), then);
          await send('PUT', clientPath(client.client_id), { body: { settings: back }, headers: unchanged });
          onSaved();
        },
      });
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }

  return (
    <form class="settings-form" onSubmit={(event) => void save(event)}>
      {groups.map((group) => (
        <section key={group.name} class="panel" aria-label={group.name}>
          <h2>{group.name}</h2>
          {group.settings.map((each) => (
            <One key={each.path} setting={each} value={each.path in changes ? (changes[each.path] ?? null) : valueOf(client.settings, each.path)} put={(value) => put(each, value)} />
          ))}
        </section>
      ))}
      {problem && <ProblemNote problem={problem} />}
      <div class={`save-bar ${changed.length ? 'shown' : ''}`}>
        <span>{changed.length ? `${plural(changed.length, 'setting')} changed` : 'Nothing changed'}</span>
        <span class="push" />
        <Button disabled={!changed.length} onClick={() => setChanges({})}>
          Discard
        </Button>
        <Button type="submit" kind="main" busy={busy} disabled={!changed.length}>
          Save
        </Button>
      </div>
    </form>
  );
}

function One({ setting, value, put }: { setting: Setting; value: Value; put: (value: Value) => void }) {
  const id = `setting-${setting.path.replace('.', '-')}`;
  const shown = setting.options?.find(([each]) => each === setting.usual)?.[1];
  const usual = shown ?? (typeof setting.usual === 'boolean' ? (setting.usual ? 'on' : 'off') : setting.usual === null ? (setting.none ?? 'none') : String(setting.usual));
  const described = { id, 'aria-describedby': `${id}-help` };
  return (
    <div class="setting">
      <div class="about">
        <label for={id}>{setting.name}</label>
        <p class="faint" id={`${id}-help`}>
          {setting.about} Default: {usual}.
        </p>
      </div>
      <div class="control">
        {setting.options ? (
          <select {...described} value={String(value)} onChange={(event) => put(event.currentTarget.value)}>
            {setting.options.map(([each, text]) => (
              <option key={each} value={each}>
                {text}
              </option>
            ))}
          </select>
        ) : typeof setting.usual === 'boolean' ? (
          <input {...described} type="checkbox" checked={value === true} onChange={(event) => put(event.currentTarget.checked)} />
        ) : (
          <input
            {...described}
            type="number"
            min={setting.least ?? 0}
            value={value === null ? '' : Number(value)}
            placeholder={setting.none}
            required={setting.none === undefined}
            onInput={(event) => put(event.currentTarget.value === '' ? null : event.currentTarget.valueAsNumber)}
          />
        )}
      </div>
    </div>
  );
}
