/** The team's snippets: texts for answers. */
import { useState } from 'preact/hooks';
import { call } from '../api';
import { readAgain, useGet } from '../data';
import type { Schemas } from '../types';
import { Button, LoadProblem, Skeleton } from '../ui/basic';
import { Confirm, Field } from '../ui/confirm';
import { toast } from '../ui/toast';

type Snippet = Schemas['SnippetOut'];
const PATH = '/team/v1/snippets';

export function useSnippets() {
  return useGet<Schemas['SnippetList']>(PATH);
}

export function Snippets() {
  const loaded = useSnippets();
  const [opened, setOpened] = useState<Snippet | 'new' | null>(null);
  async function remove({ id, name, text }: Snippet) {
    await call('DELETE', `${PATH}/${id}`);
    await readAgain(PATH);
    toast(`/${name} is removed.`, { undo: async () => (await call('POST', PATH, { body: { name, text } }), readAgain(PATH)) });
  }
  return (
    <section class="panel" aria-labelledby="snippets">
      <header class="row">
        <h2 id="snippets">Snippets</h2>
        <span class="push" />
        <Button icon="plus" onClick={() => setOpened('new')}>Add a snippet</Button>
      </header>
      <p class="faint">Texts for answers. Type / and the name in an answer.</p>
      <LoadProblem of={loaded} />
      {!loaded.data && !loaded.error && <Skeleton lines={3} wide={100} />}
      <ul class="lines" aria-label="Snippets">
        {loaded.data?.data.map((snippet) => (
          <li key={snippet.id} class="line-of short">
            <div class="what">
              <span class="strong">/{snippet.name}</span>
              <span class="faint cut">{snippet.text}</span>
            </div>
            <div class="tools">
              <Button aria-label={`Edit ${snippet.name}`} onClick={() => setOpened(snippet)}>Edit</Button>
              <Button kind="danger" aria-label={`Remove ${snippet.name}`} onClick={() => void remove(snippet)}>Remove</Button>
            </div>
          </li>
        ))}
      </ul>
      {opened && <Editor of={opened === 'new' ? null : opened} onClose={() => setOpened(null)} />}
    </section>
  );
}

function Editor({ of, onClose }: { of: Snippet | null; onClose: () => void }) {
  const [name, setName] = useState(of?.name ?? '');
  const [text, setText] = useState(of?.text ?? '');
  async function run() {
    await (of ? call('PATCH', `${PATH}/${of.id}`, { body: { name, text } }) : call('POST', PATH, { body: { name, text } }));
    await readAgain(PATH);
    toast(`/${name} is saved.`);
  }
  return (
    <Confirm title={of ? 'Edit snippet' : 'Add a snippet'} action="Save" disabled={!name.trim() || !text.trim()} onClose={onClose} run={run}>
      <Field label="Name" help="What follows the / in an answer.">
        <input type="text" autofocus maxLength={60} value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <Field label="Text" help="Fields: {{first_name}}, {{last_name}}, {{company_name}}, {{email}} and {{my_name}}.">
        <textarea rows={6} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </Field>
    </Confirm>
  );
}
