/** The rules that ignore webhooks of a client: what each has ignored, its name, and the way back. */
import { useState } from 'preact/hooks';
import { call as send, get } from '../api';
import { useRead } from '../data';
import { followSaved } from '../mapping/panel';
import { nobody } from '../record/source';
import type { Job } from '../settings/types';
import type { Schemas } from '../types';
import { Button, LoadProblem, Time } from '../ui/basic';
import { Confirm, Field } from '../ui/confirm';
import { count, plural } from '../words';
import { clientPath } from './requests';
import { nameOf } from './tools';

type Rule = Schemas['IgnoreRuleOut'];

export function IgnoredWebhooks({ id }: { id: string }) {
  const path = clientPath(id, '/ignore-rules');
  const loaded = useRead(path, (signal) => get<{ data: Rule[] }>(path, {}, signal));
  const [opened, setOpened] = useState<{ of: Rule; name: string | null } | null>(null);
  const [replays, setReplays] = useState(true);
  if (loaded.error) return <LoadProblem of={loaded} />;
  if (!loaded.data?.data.length) return null;

  async function run({ of, name }: { of: Rule; name: string | null }) {
    const one = `${path}/${of.id}`;
    if (name !== null) await send('PATCH', one, { body: { name } });
    else {
      const job = (await send<Job | null>('DELETE', one, { query: { replay: String(replays) } })).data;
      if (job) void followSaved(id, job, 'Rule removed').finally(() => loaded.refetch());
    }
    await loaded.refetch();
  }

  const act = opened?.name === null ? 'Remove' : 'Rename';
  return (
    <section class="panel" aria-labelledby="ignored">
      <header class="row">
        <h2 id="ignored">Ignored webhooks</h2>
      </header>
      <ul class="lines">
        {loaded.data.data.map((each) => (
          <li key={each.id} class="line-of">
            <div class="what">
              <b dir="auto">{each.name}</b>
              <span class="faint" dir="auto">
                {nameOf(each.channel, each.tool)}: {each.setting === 'events' ? 'event' : 'object'} “{each.key}”
              </span>
              {each.created_time && (
                <span class="faint">
                  {each.actor && `${each.actor.name || nobody()}, `}
                  <Time at={each.created_time} />
                </span>
              )}
            </div>
            <div class="usual">
              <span>{plural(each.ignored, 'webhook')} ignored</span>
              {each.last_time && (
                <span class="faint">
                  Last <Time at={each.last_time} as="ago" />
                </span>
              )}
            </div>
            <div class="tools">
              <Button onClick={() => setOpened({ of: each, name: each.name })} aria-label={`Rename ${each.name}`}>
                Rename
              </Button>
              <Button kind="danger" onClick={() => setOpened({ of: each, name: null })} aria-label={`Remove ${each.name}`}>
                Remove
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {opened && (
        <Confirm title={`${act} “${opened.of.name}”`} action={act} danger={opened.name === null} disabled={opened.name?.trim() === ''} onClose={() => setOpened(null)} run={() => run(opened)}>
          {opened.name === null ? (
            <>
              <p>Later webhooks of “{opened.of.key}” are applied.</p>
              <label class="check">
                <input type="checkbox" checked={replays} onChange={(change) => setReplays(change.currentTarget.checked)} /> Replay the {count(opened.of.ignored)} that it ignored. History reverts it.
              </label>
            </>
          ) : (
            <Field label="Name">
              <input type="text" value={opened.name} onInput={(event) => setOpened({ ...opened, name: event.currentTarget.value })} maxLength={200} />
            </Field>
          )}
        </Confirm>
      )}
    </section>
  );
}
