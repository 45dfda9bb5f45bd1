/** Other contacts that may be the same person: the same name in the same client, with a merge that can be undone. */
import { useState } from 'preact/hooks';
import { asProblem, get, post, type Problem } from '../api';
import { useLoad } from '../load';
import { go, href } from '../route';
import { canWrite } from '../session';
import type { Contact, Page } from '../types';
import { Button, ProblemNote } from '../ui/basic';
import { Dialog } from '../ui/overlay';
import { toast } from '../ui/toast';
import { personName, words } from '../words';

interface Merge {
  merge_id: number | null;
  fields: { field: string; value: string | null; from_id: number; before: string | null }[];
}

export function Doubles({ contact, reload }: { contact: Contact; reload: () => void }) {
  const named = contact.first_name && contact.last_name;
  const [other, setOther] = useState<Contact | null>(null);
  const loaded = useLoad(`doubles ${contact.id} ${contact.updated_time}`, async (signal) => {
    if (!named) return [];
    const query = { first_name: contact.first_name, last_name: contact.last_name, limit: '6', structure: 'FLAT' };
    const page = await get<Page<Contact>>('/public/v2/contacts', query, signal);
    return page.data.filter((each) => each.id !== contact.id);
  });
  if (!loaded.value?.length) return null;
  return (
    <section class="doubles" aria-labelledby="doubles">
      <h2 id="doubles">Has the same name</h2>
      <ul>
        {loaded.value.map((each) => (
          <li key={each.id}>
            <a class="cut" href={href(`/contacts/${each.id}`)}>
              {each.email ?? personName(each)}
            </a>
            {canWrite.value && <Button onClick={() => setOther(each)}>Merge…</Button>}
          </li>
        ))}
      </ul>
      {other && <MergeDialog contact={contact} other={other} onClose={() => setOther(null)} reload={reload} />}
    </section>
  );
}

function MergeDialog({ contact, other, onClose, reload }: { contact: Contact; other: Contact; onClose: () => void; reload: () => void }) {
  const path = `/public/v2/contacts/${contact.id}/merge`;
  const preview = useLoad(`merge ${contact.id} ${other.id}`, () => post<Merge>(path, { with: [other.id] }, { dry_run: 'true' }));
  const [problem, setProblem] = useState<Problem | null>(null);
  async function merge() {
    try {
      const made = await post<Merge>(path, { with: [other.id] });
      onClose();
      toast(`${personName(other)} (${other.id}) is part of this contact now.`, {
        undo: async () => {
          await post(`${path}/${made.merge_id}/undo`);
          go(`/contacts/${other.id}`);
        },
      });
      reload();
    } catch (error) {
      setProblem(asProblem(error));
    }
  }
  const shown = problem ?? preview.problem;
  return (
    <Dialog title="Merge two contacts" wide onClose={onClose}>
      <p>
        The contact {other.id} ({other.email ?? personName(other)}) becomes part of this one. Its history and its addresses move here. It can be undone for 30 days.
      </p>
      {shown && <ProblemNote problem={shown} />}
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Now</th>
            <th scope="col">After the merge</th>
          </tr>
        </thead>
        <tbody>
          {preview.value?.fields.map((each) => (
            <tr key={each.field}>
              <th scope="row">{words(each.field)}</th>
              <td>{each.before ?? <span class="absent">–</span>}</td>
              <td class={each.value === each.before ? '' : 'new'}>{each.value ?? <span class="absent">–</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" disabled={!preview.value} onClick={() => void merge()}>
          Merge
        </Button>
      </footer>
    </Dialog>
  );
}
