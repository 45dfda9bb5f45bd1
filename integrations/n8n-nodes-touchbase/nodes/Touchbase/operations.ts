import type { DeclarativeRestApiSettings, INodeProperties, INodePropertyRouting } from 'n8n-workflow';

import { bodyFrom, onceOnly, refuse } from './requests';

const records = ['contact', 'company'];

/** The path of contacts or companies, and what follows it. */
const path = (rest: string) => `=/public/v2/{{ $parameter.resource === "contact" ? "contacts" : "companies" }}${rest}`;

/** One request; a refusal is raised in the API's words. */
function sends(
  request: DeclarativeRestApiSettings.HttpRequestOptions,
  { before = [], list = false }: { before?: NonNullable<INodePropertyRouting['send']>['preSend']; list?: boolean } = {},
): INodePropertyRouting {
  return {
    request: { ...request, ignoreHttpStatusErrors: true },
    send: { preSend: before },
    output: { postReceive: list ? [refuse, { type: 'rootProperty', properties: { property: 'data' } }] : [refuse] },
  };
}

/** What can be done with contacts and companies: one operation is one request. */
export const operations: INodeProperties[] = [
  {
    displayName: 'Resource',
    name: 'resource',
    type: 'options',
    noDataExpression: true,
    options: [
      { name: 'Company', value: 'company' },
      { name: 'Contact', value: 'contact' },
      { name: 'Do-Not-Contact List', value: 'suppression' },
      { name: 'Message', value: 'message' },
    ],
    default: 'contact',
  },
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: { show: { resource: records } },
    options: [
      {
        name: 'Change Status',
        value: 'status',
        action: 'Change the status of a record',
        description: 'Set the status, as a person does by hand',
        routing: sends({
          method: 'PATCH',
          url: path('/{{ $parameter.id }}'),
          qs: { structure: 'FLAT' },
          body: '={{ { [$parameter.resource + "_status"]: $parameter.status } }}',
        }),
      },
      {
        name: 'Create',
        value: 'create',
        action: 'Create a record',
        description: 'Create a record; one that exists is an error',
        routing: sends({ method: 'POST', url: path(''), qs: { structure: 'FLAT' } }, { before: [bodyFrom('record'), onceOnly] }),
      },
      {
        name: 'Create or Update',
        value: 'upsert',
        action: 'Create or update a record',
        description: 'Create a new record, or update the current one if it already exists (upsert)',
        routing: sends(
          { method: 'PUT', url: path(''), qs: { structure: 'FLAT', match: '={{ $parameter.match }}' } },
          { before: [bodyFrom('record'), onceOnly] },
        ),
      },
      {
        name: 'Get',
        value: 'get',
        action: 'Get a record',
        routing: sends({ method: 'GET', url: path('/{{ $parameter.id }}'), qs: { structure: 'FLAT' } }),
      },
      {
        name: 'Get Many',
        value: 'getAll',
        action: 'Get many records',
        description: 'Search with filters',
        routing: sends({ method: 'POST', url: path('/search'), qs: { structure: 'FLAT' } }, { before: [bodyFrom('where', 'where')], list: true }),
      },
      {
        name: 'Look Up',
        value: 'match',
        action: 'Look up a record',
        description: 'Say whether the record exists, its status, its last mail and reply, and whether it must not be contacted',
        routing: sends(
          { method: 'POST', url: path('/match'), body: '={{ { items: [{ [$parameter.match]: $parameter.value }] } }}' },
          { list: true },
        ),
      },
      {
        name: 'Update',
        value: 'update',
        action: 'Update a record',
        description: 'Change members of a record',
        routing: sends({ method: 'PATCH', url: path('/{{ $parameter.id }}'), qs: { structure: 'FLAT' } }, { before: [bodyFrom('record')] }),
      },
    ],
    default: 'getAll',
  },
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: { show: { resource: ['message'] } },
    options: [
      {
        name: 'Get Many',
        value: 'getAll',
        action: 'Get many messages',
        description: 'Sent and received mails and messages, newest first',
        routing: sends(
          {
            method: 'GET',
            url: '/public/v2/messages',
            qs: { direction: '={{ $parameter.direction || undefined }}', contact_email: '={{ $parameter.email || undefined }}' },
          },
          { list: true },
        ),
      },
    ],
    default: 'getAll',
  },
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: { show: { resource: ['suppression'] } },
    options: [
      {
        name: 'Add',
        value: 'add',
        action: 'Put an address on the list',
        routing: sends(
          {
            method: 'POST',
            url: '/public/v2/suppressions',
            body: { value: '={{ $parameter.value }}', reason: '={{ $parameter.reason }}' },
          },
          { before: [onceOnly], list: true },
        ),
      },
    ],
    default: 'add',
  },
];
