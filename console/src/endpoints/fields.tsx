/** The fields of an endpoint: the same to add one and to change it. Each says what it is for. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Problem } from '../api';
import type { Draft } from './draft';
import { toolName } from '../words';
import { BLOCKLIST_TYPES, BLOCKLISTS, EVENT_TYPES, HUBSPOT_TYPES, SIGNED } from './types';

interface FieldsProps {
  draft: Draft;
  set: (changed: Partial<Draft>) => void;
  problem: Problem | null;
  isNew: boolean;
}

/** What the API says of one member. */
function faultOf(problem: Problem | null, member: string): string {
  const found = (problem?.body.errors ?? []).filter((each) => each.pointer === `/${member}` || each.pointer.startsWith(`/${member}/`));
  return found.map((each) => each.detail).join('; ');
}

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  fault: string;
  children: (ids: { id: string; 'aria-describedby': string; 'aria-invalid': boolean }) => ComponentChildren;
}

function Field({ label, hint, fault, children }: FieldProps) {
  const id = useId();
  return (
    <div class="form-field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': `${id}-hint`, 'aria-invalid': fault !== '' })}
      <div id={`${id}-hint`}>
        {fault && <p class="wrong" role="alert">{fault}</p>}
        {hint && <p class="faint">{hint}</p>}
      </div>
    </div>
  );
}

export function EndpointFields({ draft, set, problem, isNew }: FieldsProps) {
  const { kind } = draft;
  const fault = (member: string) => faultOf(problem, member);
  const isSigned = SIGNED.includes(kind);
  const isText = kind === 'slack' || kind === 'email';
  return (
    <div class="form-fields">
      {(isSigned || kind === 'slack') && (
        <Field
          label="Address"
          fault={fault('url')}
          hint={
            isSigned
              ? 'It begins with https:// and is a public address. It gets POST requests, signed as Standard Webhooks say; answer with a 2xx within 15 seconds.'
              : `In Slack: add an app with an incoming webhook for the channel, and copy its URL. It is a secret, and is not shown again.${isNew ? '' : ' Empty: the present one stays.'}`
          }
        >
          {(ids) => (
            <input {...ids} type="text" spellcheck={false} autocomplete="off" value={draft.url} onInput={(event) => set({ url: event.currentTarget.value })}
              placeholder={isSigned ? 'crm.example.com/hooks/touchbase' : 'hooks.slack.com/services/…'} />
          )}
        </Field>
      )}
      {kind === 'email' && (
        <Field label="Recipients" fault={fault('to') || fault('kind')} hint="Email addresses, separated by commas. The email goes to all of them or to none.">
          {(ids) => <input {...ids} type="text" spellcheck={false} autocomplete="off" value={draft.to} placeholder="sales@example.com, sam@example.com" onInput={(event) => set({ to: event.currentTarget.value })} />}
        </Field>
      )}
      {kind === 'hubspot' && (
        <Field label="Values" fault={fault('values') || fault('kind')} hint="One in a line: a status of yours = the internal name that HubSpot has for it. Others are written as they are.">
          {(ids) => <textarea {...ids} rows={4} spellcheck={false} value={draft.values} placeholder={'won = CUSTOMER\ninterested = IN_PROGRESS'} onInput={(event) => set({ values: event.currentTarget.value })} />}
        </Field>
      )}
      {kind === 'blocklist' && (
        <Field label="Tool" fault={fault('tool') || fault('kind')} hint="Its connection has the access token of its API. Nothing is taken off its list again.">
          {(ids) => (
            <select {...ids} value={draft.tool} onChange={(event) => set({ tool: event.currentTarget.value })}>
              <option value="">Choose a tool</option>
              {BLOCKLISTS.map((tool) => (
                <option key={tool} value={tool}>{toolName(tool)}</option>
              ))}
            </select>
          )}
        </Field>
      )}
      <Field label="Description" fault={fault('description')} hint="For people: what it is for.">
        {(ids) => <input {...ids} type="text" value={draft.description} placeholder="Replies to the CRM" onInput={(event) => set({ description: event.currentTarget.value })} />}
      </Field>
      {kind !== 'audit' && <Types draft={draft} set={set} fault={fault('types')} />}
      {isText && (
        <>
          {kind === 'email' && (
            <Field label="Subject" fault={fault('template_subject')} hint="Empty: the person replied.">
              {(ids) => <input {...ids} type="text" value={draft.template_subject} placeholder="{{person}} replied" onInput={(event) => set({ template_subject: event.currentTarget.value })} />}
            </Field>
          )}
          <Field label="Text" fault={fault('template')} hint="Empty: the usual message. Values: {{person}}, {{text}}, {{subject}}, {{campaign}}, {{tool}}, {{link}}, {{contact.email}}, {{company.name}}, {{cf.Seats}}.">
            {(ids) => <textarea {...ids} rows={4} value={draft.template} placeholder={'{{person}} replied to {{campaign}}:\n{{text}}\n{{link}}'} onInput={(event) => set({ template: event.currentTarget.value })} />}
          </Field>
        </>
      )}
      <More draft={draft} set={set} problem={problem} isNew={isNew} />
    </div>
  );
}

function Types({ draft, set, fault }: Pick<FieldsProps, 'draft' | 'set'> & { fault: string }) {
  const all = draft.kind === 'hubspot' ? HUBSPOT_TYPES : draft.kind === 'blocklist' ? BLOCKLIST_TYPES : EVENT_TYPES;
  const none = { webhook: 'all events', slack: 'replies', email: 'replies', hubspot: 'changes of status, and merges', blocklist: 'entries of the list', audit: 'all acts' }[draft.kind];
  return (
    <fieldset class="types">
      <legend>Events</legend>
      <p class="faint">{draft.types.length ? `${draft.types.length} chosen.` : `None chosen: ${none}.`}</p>
      {fault && <p class="wrong" role="alert">{fault}</p>}
      <div class="choices">
        {all.map((type) => (
          <label key={type}>
            <input
              type="checkbox"
              checked={draft.types.includes(type)}
              onChange={(event) => set({ types: event.currentTarget.checked ? [...draft.types, type] : draft.types.filter((each) => each !== type) })}
            />
            <span>{type}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function More({ draft, set, problem, isNew }: FieldsProps) {
  const fault = (member: string) => faultOf(problem, member);
  const isAudit = draft.kind === 'audit';
  const hasFault = ['filter', 'fields', 'ordering', 'format', 'rate_limit'].some((each) => fault(each));
  const used = Boolean(draft.filter || draft.fields || draft.format !== 'standard' || draft.ordering !== 'per_record' || (!isNew && draft.rate_limit !== '0'));
  return (
    <details class="form-more" open={hasFault || used}>
      <summary>{isAudit ? 'Rate and form' : 'Filter, order and rate'}</summary>
      {!isAudit && <Field label="Filter" fault={fault('filter')} hint="JSON. Only events of records that match are sent; the names and operators are those of a search.">
        {(ids) => (
          <textarea {...ids} rows={3} class="code-text" spellcheck={false} value={draft.filter} placeholder={'{"contact": {"contact_status[in]": ["interested", "won"]}}'} onInput={(event) => set({ filter: event.currentTarget.value })} />
        )}
      </Field>}
      {draft.kind === 'webhook' && (
        <Field label="Fields" fault={fault('fields')} hint="Members of the record that are sent, separated by commas. Empty: all.">
          {(ids) => <input {...ids} type="text" spellcheck={false} value={draft.fields} placeholder="email, contact_status, company_id" onInput={(event) => set({ fields: event.currentTarget.value })} />}
        </Field>
      )}
      <div class="form-pair">
        {!isAudit && <Field label="Order" fault={fault('ordering')}>
          {(ids) => (
            <select {...ids} value={draft.ordering} onChange={(event) => set({ ordering: event.currentTarget.value })}>
              <option value="per_record">In order for each record</option>
              <option value="none">In any order</option>
            </select>
          )}
        </Field>}
        <Field label="Requests a second" fault={fault('rate_limit')} hint="0: no limit.">
          {(ids) => <input {...ids} type="text" inputMode="numeric" value={draft.rate_limit} placeholder={{ webhook: '0', slack: '1', email: '5', hubspot: '5', blocklist: '1', audit: '0' }[draft.kind]} onInput={(event) => set({ rate_limit: event.currentTarget.value })} />}
        </Field>
        {SIGNED.includes(draft.kind) && (
          <Field label="Form of the body" fault={fault('format')}>
            {(ids) => (
              <select {...ids} value={draft.format} onChange={(event) => set({ format: event.currentTarget.value })}>
                <option value="standard">Standard Webhooks</option>
                <option value="cloudevents">CloudEvents 1.0</option>
              </select>
            )}
          </Field>
        )}
      </div>
    </details>
  );
}
