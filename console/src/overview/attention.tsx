/** What is wrong, in plain sentences, each with what to do. Nothing is shown where nothing is wrong. */
import { asProblem, get, Problem } from '../api';
import { client, href } from '../route';
import { isAdmin, session } from '../session';
import type { Contact, Group, Page } from '../types';
import { Icon } from '../ui/basic';
import { ago, plural, span, toolName } from '../words';

interface Connection {
  channel: string;
  tool: string;
  calls?: { last_time?: string; usual_interval_seconds: number | null; silent_since_time: string | null } | null;
}

export interface Sentence {
  text: string;
  action: string;
  to: string;
}

async function read(id: string, wide: boolean, signal: AbortSignal): Promise<Sentence[]> {
  const [groups, connections, requests, status] = await Promise.all([
    get<{ data: Group[] }>('/admin/v1/deliveries/groups', { client: id, limit: '100' }, signal),
    get<{ data: Connection[] }>(`/admin/v1/clients/${encodeURIComponent(id)}/connections`, {}, signal),
    get<Page<Contact>>('/public/v2/contacts/deleted', { erasure_requested: 'true', structure: 'FLAT', limit: '20' }, signal),
    wide ? get<{ warnings: string[] }>('/admin/v1/status', {}, signal) : Promise.resolve({ warnings: [] }),
  ]);
  const silent = connections.data.flatMap((each) => silenceOf(each));
  const wrong = groups.data.filter((each) => each.state === 'unrecognised' || each.state === 'failed').slice(0, 4).map((each) => ({
    text: `${plural(each.count, 'webhook')} from ${each.tool === null ? 'an unknown tool' : toolName(each.tool)} ${each.state === 'failed' ? 'could not be read' : each.count === 1 ? 'was not recognised' : 'were not recognised'}, the last ${ago(each.last_received_at)}.`,
    action: 'Look at one',
    to: href(`/webhooks/${each.example_id}`, { tab: 'problems' }),
  }));
  return [...silent, ...erasureRequests(requests), ...wrong, ...status.warnings.map((text) => ({ text, action: '', to: '' }))];
}

function erasureRequests(requests: Page<Contact>): Sentence[] {
  const count = requests.data.length;
  if (!count) return [];
  const people = count === 1 ? 'A CRM asks to erase a person' : `CRMs ask to erase ${count}${requests.next_cursor === null ? '' : ' or more'} people`;
  return [{ text: `${people}. They wait in the bin until you decide.`, action: 'Decide', to: href('/erasure') }];
}

function silenceOf(each: Connection): Sentence[] {
  const since = each.calls?.silent_since_time;
  if (!since) return [];
  const usual = each.calls?.usual_interval_seconds;
  const long = span(Date.now() - new Date(since).getTime());
  return [{
    text: `Nothing from ${toolName(each.tool)} for ${long}${usual ? `; usually every ${span(usual * 1000)}` : ''}.`,
    action: 'Show its webhooks',
    to: href('/webhooks', { tool: each.tool }),
  }];
}

/** What needs attention, for a key that may see it. */
export async function readAttention(signal: AbortSignal): Promise<Sentence[]> {
  const id = client.value || session.value?.client_id || '';
  if (!isAdmin.value || !id) return [];
  try {
    return await read(id, session.value?.client_id === null, signal);
  } catch (error) {
    // An overview that says nothing of problems because they could not be read would look sound.
    if (signal.aborted || (error instanceof Problem && error.body.errors?.some((each) => each.code === 'client_not_found'))) return [];
    return [{ text: `What needs attention could not be read: ${asProblem(error).message}`, action: '', to: '' }];
  }
}

export function Attention({ sentences }: { sentences: readonly Sentence[] }) {
  if (!sentences.length) return null;
  return (
    <section class="attention" aria-label="Needs attention">
      <ul>
        {sentences.map((each) => (
          <li key={each.text}>
            <Icon name="warning" />
            <span>{each.text}</span>
            {each.action && <a href={each.to}>{each.action}</a>}
          </li>
        ))}
      </ul>
    </section>
  );
}
