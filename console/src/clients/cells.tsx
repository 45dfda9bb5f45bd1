/** The stores that clients live in, where there is more than one. */
import { get } from '../api';
import { useRead } from '../data';
import { choosesClient } from '../session';
import { ProblemNote } from '../ui/basic';
import { count } from '../words';

interface Cell {
  name: string;
  number: number;
  state: string;
  clients: number;
  answers: boolean;
  reason: string | null;
}

/** A table of the cells for a key of all clients; nothing with the home store alone. */
export function Cells() {
  const loaded = useRead(`/admin/v1/cells ${choosesClient.value}`, async (signal) => (choosesClient.value ? (await get<{ data: Cell[] }>('/admin/v1/cells', {}, signal)).data : []));
  if (loaded.error) return <ProblemNote problem={loaded.error} retry={() => void loaded.refetch()} />;
  const cells = loaded.data ?? [];
  if (cells.length < 2) return null;
  return (
    <section class="cells-of" aria-labelledby="cells">
      <h2 id="cells">Cells</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Cells, and whether they answer">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Cell</th>
              <th scope="col" class="number">Number</th>
              <th scope="col" class="number">Clients</th>
              <th scope="col">New clients</th>
              <th scope="col">Answers</th>
            </tr>
          </thead>
          <tbody>
            {cells.map((each) => (
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
