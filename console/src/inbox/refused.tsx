/** Calls that were not stored, each with its cause and how to mend it. */
import { useLoad } from '../load';
import { client } from '../route';
import type { Page, Refusal } from '../types';
import { Empty, ProblemNote, Skeleton, Time } from '../ui/basic';
import { bytes, plural, toolName } from '../words';
import { listed } from './screen';

const CAUSES: Record<string, readonly [string, string]> = {
  not_verified: ['The sender was not proved', 'The connection has a secret, and the call does not carry it. Compare the secret in the tool with the connection’s, or make a new one.'],
  test_call: ['A test of the tool', 'Nothing to mend: the tool tried whether the address answers.'],
  unknown_client: ['No client has this address', 'The address in the tool has a typing error, or the client’s id was rotated. Copy the address again.'],
  too_large: ['The body was too long', 'Send fewer records in a call, or raise TOUCHBASE_MAX_WEBHOOK_BODY_BYTES.'],
  foreign_origin: ['A web page sent it', 'Tools send from a server. If this was a browser, send it from your own program.'],
  rate: ['Too many calls at once', 'The tool sends them again by itself. Raise the client’s limit if this is usual.'],
  storage: ['The client stores too much', 'The tool sends it again by itself. Delete data, or raise the client’s limit of stored bytes.'],
};

export function Refused() {
  const loaded = useLoad(`refused ${client.value}`, (signal) => listed<Page<Refusal>>('/admin/v1/refusals', { limit: '100' }, { data: [], next_cursor: null }, signal));
  if (loaded.problem) return <ProblemNote problem={loaded.problem} retry={loaded.reload} />;
  if (!loaded.value) return <div class="pad"><Skeleton lines={8} wide={95} /></div>;
  if (!loaded.value.data.length) {
    return (
      <Empty icon="check" title="No call was refused">
        <p>A call is refused if its sender cannot be proved, if no client has its address, or if it is too long. Its cause would stand here.</p>
      </Empty>
    );
  }
  return (
    <ul class="calls" aria-label="Refused calls">
      {loaded.value.data.map((each, n) => {
        const [title, mend] = CAUSES[each.cause] ?? [each.cause, ''];
        return (
          <li key={`${each.received_at} ${n}`} class="call">
            <span class="line">
              <span class="strong cut">{title}</span>
              <Time at={each.received_at} />
            </span>
            <span>{mend}</span>
            <span class="faint">
              {each.tool ? `Looks like ${toolName(each.tool)}` : 'Unknown tool'}, {bytes(each.size)}
              {each.calls > 1 && `, ${plural(each.calls, 'call')} alike`}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
