/** Links by which somebody reads the report of one client without signing in: made, listed and revoked. */
import { useState } from 'preact/hooks';
import { call } from '../api';
import { readAgain, useGet } from '../data';
import { root } from '../route';
import type { Schemas } from '../types';
import { Button, LoadProblem, Time } from '../ui/basic';
import { Confirm, Field, ShownOnce } from '../ui/confirm';
import { Dialog } from '../ui/overlay';
import { toastProblem } from '../ui/toast';
import { capital, plural } from '../words';

const ENDS = [7, 30, 90, 365] as const;

export function Share({ of, period, onClose }: { of: string; period: number; onClose: () => void }) {
  const path = `/admin/v1/clients/${encodeURIComponent(of)}/report-links`;
  const links = useGet<Schemas['ReportLinkList']>(path);
  const [name, setName] = useState('');
  const [days, setDays] = useState('30');
  const [made, setMade] = useState<Schemas['NewReportLinkOut'] | null>(null);

  async function create() {
    const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const body = { name: name.trim(), days: Number(days), period: [7, 30, 90].includes(period) ? period : 30, time_zone };
    setMade((await call<Schemas['NewReportLinkOut']>('POST', path, { body })).data);
    void readAgain(path);
    return false;
  }

  if (made?.url) {
    return (
      <Dialog title={`Report link for ${made.name}`} onClose={onClose}>
        <ShownOnce text={`${location.origin}${root}${made.url.slice(made.url.indexOf('/report/'))}`} of="link">
          <p>Whoever has it can read this client’s report until it ends.</p>
        </ShownOnce>
      </Dialog>
    );
  }
  const present = (links.data?.data ?? []).filter((each) => each.state === 'active');
  return (
    <Confirm title="Share this report" action="Create link" disabled={!name.trim()} onClose={onClose} run={create}>
      <p>A page with this client’s numbers by day, campaign, step and label. It names no people and needs no sign-in.</p>
      <Field label="For" help="Who gets the link; readers do not see this.">
        <input type="text" autofocus value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <Field label="It ends in">
        <select value={days} onChange={(event) => setDays(event.currentTarget.value)}>
          {ENDS.map((each) => (
            <option key={each} value={each}>{plural(each, 'day')}</option>
          ))}
        </select>
      </Field>
      <LoadProblem of={links} />
      {present.length > 0 && (
        <section aria-labelledby="links">
          <h3 id="links">Links</h3>
          <ul class="links">
            {present.map((each) => (
              <li key={each.id}>
                <span>
                  <b>{each.name}</b>{' '}
                  <span class="faint">
                    ends <Time at={each.expires_at} /> · {each.last_used_at ? <>read <Time at={each.last_used_at} /></> : 'not read yet'}
                  </span>
                </span>
                <Button onClick={() => void call('DELETE', `${path}/${each.id}`).then(() => readAgain(path), toastProblem)} label={capital(`revoke the link for ${each.name}`)}>
                  Revoke
                </Button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Confirm>
  );
}
