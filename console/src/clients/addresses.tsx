/** The two webhook addresses of a client, with what the chosen tool needs next to them. */
import { href, go, place } from '../route';
import { CopyLine } from '../ui/confirm';
import { Light } from './light';
import { webhookAddress } from './requests';
import { Sample } from './sample';
import { CHANNEL_NAMES, CHANNELS, guideOf, nameOf, secretOf, TOOLS } from './tools';
import type { Channel, Connection } from './types';

/** The tool in the address of the page, such as `crm/hubspot`. */
function chosenTool(): { channel: Channel; tool: string } | null {
  const [channel, tool] = (place.value.query.get('tool') ?? '').split('/');
  if ((channel !== 'crm' && channel !== 'email_campaign') || tool === undefined || !TOOLS[channel][tool]) return null;
  return { channel, tool };
}

export function Addresses({ id, connections }: { id: string; connections: readonly Connection[] }) {
  const chosen = chosenTool();
  return (
    <section class="panel" aria-labelledby="addresses">
      <header class="row">
        <h2 id="addresses">Webhook addresses</h2>
        <span class="push" />
        <div class="tool-choice">
          <ToolSelect aria-label="Tool" value={chosen ? `${chosen.channel}/${chosen.tool}` : ''} none="Choose your tool" onPick={(value) => go(`/clients/${id}`, { tool: value }, true)} />
        </div>
      </header>
      <div class="two">
        {CHANNELS.map((channel) => {
          const tool = chosen?.channel === channel ? chosen.tool : '';
          if (chosen && !tool) return null;
          return (
            <div key={channel} class="address">
              <h3>{tool ? nameOf(channel, tool) : CHANNEL_NAMES[channel]}</h3>
              <CopyLine text={webhookAddress(id, channel) + (tool ? (guideOf(channel, tool).query ?? '') : '')} of={`address for ${channel === 'crm' ? 'CRMs' : 'campaign tools'}`} />
              <Light id={id} channel={channel} tool={tool} />
              {tool && <Sample key={tool} id={id} channel={channel} tool={tool} connection={connections.find((each) => each.channel === channel && each.tool === tool)} />}
            </div>
          );
        })}
        {chosen && <Guide id={id} {...chosen} connections={connections} />}
      </div>
      {!chosen && <p class="faint">The address is all that a tool needs; webhooks are recognised by their content. Choose a tool to see where to paste it, and to send a sample webhook.</p>}
    </section>
  );
}

function Guide({ id, channel, tool, connections }: { id: string; channel: Channel; tool: string; connections: readonly Connection[] }) {
  const guide = guideOf(channel, tool);
  const own = secretOf(channel, tool);
  const connection = connections.find((each) => each.channel === channel && each.tool === tool);
  return (
    <div class="guide">
      <dl>
        <dt>Where</dt>
        <dd>{guide.where}</dd>
        <dt>Switch on</dt>
        <dd>{guide.events}</dd>
        <dt>Secret</dt>
        <dd>
          {connection?.secret === 'set' ? 'It is set. ' : 'None is set: whoever knows the address can send. '}
          {own ? `The secret is ${own}.` : 'The tool signs nothing: a generated secret goes into the address, as ?token=.'}
        </dd>
      </dl>
      <a class="source" href={href(`/clients/${id}`)}>
        Show both addresses
      </a>
    </div>
  );
}

interface ToolSelectProps {
  id?: string;
  'aria-describedby'?: string;
  'aria-label'?: string;
  value: string;
  none?: string;
  onPick: (value: string) => void;
}

/** All tools by channel; the value is `channel/tool`. */
export function ToolSelect({ value, none, onPick, ...rest }: ToolSelectProps) {
  return (
    <select {...rest} value={value} onChange={(event) => onPick(event.currentTarget.value)}>
      {none !== undefined && <option value="">{none}</option>}
      {CHANNELS.map((channel) => (
        <optgroup key={channel} label={CHANNEL_NAMES[channel]}>
          {Object.entries(TOOLS[channel]).map(([tool, name]) => (
            <option key={tool} value={`${channel}/${tool}`}>
              {name}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}
