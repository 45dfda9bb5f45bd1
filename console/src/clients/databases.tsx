/** The databases that clients live in, where there is more than one. */
import { get } from '../api';
import { useRead } from '../data';
import { choosesClient } from '../session';
import { LoadProblem } from '../ui/basic';
import { count } from '../words';

interface Database {
  name: string;
  number: number;
  state: string;
  clients: number;
  answers: boolean;
  reason: string | null;
}

/** A table of the databases for a key of all clients; nothing with the home database alone. */
export function Databases() {
  const loaded = useRead(`/admin/v1/databases ${choosesClient.value}`, async (signal) => (choosesClient.value ? (await get<{ data: Database[] }>('/admin/v1/databases', {}, signal)).data : []));
  if (loaded.error) return <LoadProblem of={loaded} />;
  const databases = loaded.data ?? [];
  if (databases.length < 2) return null;
  return (
    <section class="databases" aria-labelledby="databases">
      <h2 id="databases">Databases</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Databases, and whether they answer">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Database</th>
              <th scope="col" class="number">Number</th>
              <th scope="col" class="number">Clients</th>
              <th scope="col">New clients</th>
              <th scope="col">Answers</th>
            </tr>
          </thead>
          <tbody>
            {databases.map((each) => (
              <tr key={each.number}>
                <th scope="row">{each.name}</th>
                <td class="number">{each.number}</td>
                <td class="number">{count(each.clients)}</td>
                <td>{each.state === 'open' ? 'Yes' : 'No, it is draining'}</td>
                <td>{each.answers ? 'Yes' : `No: ${each.reason}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
