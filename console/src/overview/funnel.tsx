/** The funnel: who entered each status, who went on and how long it took, beside the period before. */
import { useGet } from '../data';
import { href } from '../route';
import type { Schemas } from '../types';
import { LoadProblem, Skeleton } from '../ui/basic';
import { StatusMark } from '../ui/status';
import { count, percent, plural } from '../words';
import { iso, type Period } from './period';

const PATH = '/public/v2/reports/contacts/funnel';

export function Funnel({ period }: { period: Period }) {
  const loaded = useGet<Schemas['FunnelReport']>(PATH, { ...period.query, compare: 'previous' });
  const rows = loaded.data?.data ?? [];
  const earlier = new Map((loaded.data?.previous?.data ?? []).map((each) => [each.status, each]));
  if (loaded.error) return <LoadProblem of={loaded} />;
  if (!loaded.data) return <Skeleton lines={6} wide={100} />;
  if (!rows.length) return null;
  return (
    <section aria-labelledby="funnel">
      <h2 id="funnel">Funnel</h2>
      <p class="faint">Contacts that entered a status in {plural(period.days, 'day')}, in brackets in the {period.days} before, and what became of them until now.</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Funnel, by status">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col" class="number">Entered</th>
              <th scope="col" class="number">Went on</th>
              <th scope="col" class="number">Share</th>
              <th scope="col" class="number">Median days</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((each) => {
              const old = earlier.get(each.status);
              return (
                <tr key={each.status}>
                  <th scope="row">
                    <a href={href('/contacts', { 'contact_status[in]': each.status, 'status_changed_at[gte]': iso(period.first) })}>
                      <StatusMark status={each.status} />
                    </a>
                  </th>
                  <td class="number">{count(each.entered)} <span class="faint">({count(old?.entered ?? 0)})</span></td>
                  <td class="number">{count(each.went_on)} <span class="faint">({count(old?.went_on ?? 0)})</span></td>
                  <td class="number">{percent(each.share)} <span class="faint">({percent(old?.share ?? null)})</span></td>
                  <td class="number">{each.median_days ?? '–'} <span class="faint">({old?.median_days ?? '–'})</span></td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
