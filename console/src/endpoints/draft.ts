/** What a form holds of an endpoint, and the body of a request that it makes. */
import { SIGNED, type Endpoint, type Kind } from './types';

export interface Draft {
  kind: Kind;
  url: string;
  to: string;
  description: string;
  types: readonly string[];
  fields: string;
  filter: string;
  template: string;
  template_subject: string;
  values: string;
  tool: string;
  ordering: string;
  format: string;
  rate_limit: string;
}

export const EMPTY: Draft = {
  kind: 'webhook', url: '', to: '', description: '', types: [], fields: '', filter: '', template: '', template_subject: '', values: '', tool: '',
  ordering: 'per_record', format: 'standard', rate_limit: '',
};

/** The draft of an endpoint that exists. Slack's address is a secret, so it is not there. */
export function draftOf(one: Endpoint): Draft {
  return {
    kind: one.kind,
    url: SIGNED.includes(one.kind) ? one.url : '',
    to: one.to.join(', '),
    description: one.description,
    types: one.types,
    fields: one.fields.join(', '),
    filter: Object.keys(one.filter).length ? JSON.stringify(one.filter, null, 2) : '',
    template: one.template,
    template_subject: one.template_subject,
    values: Object.entries(one.values).map(([status, value]) => `${status} = ${value}`).join('\n'),
    tool: one.tool,
    ordering: one.ordering,
    format: one.format,
    rate_limit: String(one.rate_limit),
  };
}

function listed(text: string): string[] {
  return text.split(/[,\s]+/).filter(Boolean);
}

function valuesOf(text: string): Record<string, string> {
  const pairs = text.split('\n').filter((line) => line.trim()).map((line) => {
    const at = line.indexOf('=');
    if (at < 0) throw new Error(`Write one status in a line, as in “won = CUSTOMER”; “${line.trim()}” has no =.`);
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()] as const;
  });
  return Object.fromEntries(pairs);
}

function filterOf(text: string): unknown {
  if (!text.trim()) return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('The filter is no JSON. It looks like {"contact": {"contact_status": "won"}}.');
  }
}

/** The members that a kind has. */
function membersOf(draft: Draft): Record<string, unknown> {
  const types = [...draft.types];
  const description = draft.description.trim();
  if (draft.kind === 'audit') return { description, format: draft.format };
  const common = { types, description, filter: filterOf(draft.filter), ordering: draft.ordering };
  if (draft.kind === 'webhook') return { ...common, fields: listed(draft.fields), format: draft.format };
  if (draft.kind === 'slack') return { ...common, template: draft.template };
  if (draft.kind === 'email') return { ...common, to: listed(draft.to), template: draft.template, template_subject: draft.template_subject };
  if (draft.kind === 'blocklist') return { ...common, tool: draft.tool };
  return { ...common, values: valuesOf(draft.values) };
}

/** The body of a request; `isNew`: for an endpoint that does not exist yet. Raises an error with a sentence. */
export function bodyOf(draft: Draft, isNew: boolean): Record<string, unknown> {
  const body = membersOf(draft);
  const url = draft.url.trim();
  if ((SIGNED.includes(draft.kind) || draft.kind === 'slack') && (isNew || url)) body.url = url;
  if (draft.rate_limit.trim()) {
    const rate = Number(draft.rate_limit);
    body.rate_limit = Number.isInteger(rate) ? rate : draft.rate_limit;
  }
  if (isNew) body.kind = draft.kind;
  return body;
}

/** The body of a preview. */
export function previewOf(draft: Draft): Record<string, unknown> {
  const body: Record<string, unknown> = { kind: draft.kind };
  const type = draft.types[0];
  if (type) body.type = type;
  if (draft.kind === 'slack' || draft.kind === 'email') body.template = draft.template;
  if (draft.kind === 'email') Object.assign(body, { template_subject: draft.template_subject, to: listed(draft.to) });
  if (draft.kind === 'blocklist') body.tool = draft.tool;
  if (draft.kind === 'hubspot') body.values = valuesOf(draft.values);
  return body;
}
