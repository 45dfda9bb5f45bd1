import type { INodeProperties } from 'n8n-workflow';

const records = ['contact', 'company'];

const show = (resource: string[], operation: string[]) => ({ show: { resource, operation } });

const list = '={{ $parameter.resource === "contact" ? "/public/v2/contacts" : "/public/v2/companies" }}';

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
        routing: {
          request: {
            method: 'PATCH',
            url: `${list.slice(0, -3)} + "/" + $parameter.id }}`,
            body: '={{ { [$parameter.resource + "_status"]: $parameter.status } }}',
          },
        },
      },
      {
        name: 'Create or Update',
        value: 'upsert',
        action: 'Create or update a record',
        description: 'Change the record that the member to match finds, or create it',
        routing: {
          request: { method: 'PUT', url: list, qs: { match: '={{ $parameter.match }}' }, body: '={{ JSON.parse($parameter.record) }}' },
        },
      },
      {
        name: 'Get',
        value: 'get',
        action: 'Get a record',
        routing: { request: { method: 'GET', url: `${list.slice(0, -3)} + "/" + $parameter.id }}`, qs: { structure: 'FLAT' } } },
      },
      {
        name: 'Get Many',
        value: 'getAll',
        action: 'Get many records',
        description: 'Search with filters',
        routing: {
          request: { method: 'POST', url: `${list.slice(0, -3)} + "/search" }}`, qs: { structure: 'FLAT' } },
          output: { postReceive: [{ type: 'rootProperty', properties: { property: 'data' } }] },
        },
      },
      {
        name: 'Look Up',
        value: 'match',
        action: 'Look up a record',
        description: 'Say whether the record exists, its status, its last mail and reply, and whether it must not be contacted',
        routing: {
          request: {
            method: 'POST',
            url: `${list.slice(0, -3)} + "/match" }}`,
            body: '={{ { items: [{ [$parameter.match]: $parameter.value }] } }}',
          },
          output: { postReceive: [{ type: 'rootProperty', properties: { property: 'data' } }] },
        },
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
        routing: {
          request: {
            method: 'GET',
            url: '/public/v2/messages',
            qs: { direction: '={{ $parameter.direction || undefined }}', contact_email: '={{ $parameter.email || undefined }}' },
          },
          output: { postReceive: [{ type: 'rootProperty', properties: { property: 'data' } }] },
        },
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
        routing: {
          request: {
            method: 'POST',
            url: '/public/v2/suppressions',
            body: { value: '={{ $parameter.value }}', reason: '={{ $parameter.reason }}' },
          },
        },
      },
    ],
    default: 'add',
  },
];

/** The parameters of the operations. */
export const parameters: INodeProperties[] = [
  {
    displayName: 'ID',
    name: 'id',
    type: 'number',
    default: 0,
    required: true,
    displayOptions: show(records, ['get', 'status']),
    description: 'The ID of the record in Touchbase',
  },
  {
    displayName: 'Status',
    name: 'status',
    type: 'string',
    default: '',
    required: true,
    placeholder: 'e.g. interested',
    displayOptions: show(records, ['status']),
  },
  {
    displayName: 'Member to Match',
    name: 'match',
    type: 'options',
    options: [
      { name: 'Domain', value: 'domain' },
      { name: 'Email', value: 'email' },
      { name: 'External ID', value: 'external_id' },
      { name: 'LinkedIn Address', value: 'linkedin_url' },
    ],
    default: 'email',
    displayOptions: show(records, ['upsert', 'match']),
    description: 'What finds the record: of companies the domain or the external ID',
  },
  {
    displayName: 'Value',
    name: 'value',
    type: 'string',
    default: '',
    required: true,
    displayOptions: show([...records, 'suppression'], ['match', 'add']),
    description: 'The address, domain or ID',
  },
  {
    displayName: 'Record',
    name: 'record',
    type: 'json',
    default: '{ "email": "jane@example.com", "first_name": "Jane" }',
    required: true,
    displayOptions: show(records, ['upsert']),
    description: 'The members to set; what is left out stays, null unsets',
  },
  {
    displayName: 'Filters',
    name: 'where',
    type: 'json',
    default: '{ "contact_status": "replied" }',
    displayOptions: show(records, ['getAll']),
    description: 'Filters as on the page "Search" of the documentation; all must hold',
    routing: { send: { type: 'body', property: 'where', value: '={{ JSON.parse($value || "{}") }}' } },
  },
  {
    displayName: 'Limit',
    name: 'limit',
    type: 'number',
    typeOptions: { minValue: 1, maxValue: 200 },
    default: 50,
    displayOptions: show(records, ['getAll']),
    description: 'Max number of results to return',
    routing: { send: { type: 'body', property: 'limit' } },
  },
  {
    displayName: 'Limit',
    name: 'limit',
    type: 'number',
    typeOptions: { minValue: 1, maxValue: 200 },
    default: 50,
    displayOptions: show(['message'], ['getAll']),
    description: 'Max number of results to return',
    routing: { send: { type: 'query', property: 'limit' } },
  },
  {
    displayName: 'Direction',
    name: 'direction',
    type: 'options',
    options: [
      { name: 'Both', value: '' },
      { name: 'Received', value: 'received' },
      { name: 'Sent', value: 'sent' },
    ],
    default: 'received',
    displayOptions: show(['message'], ['getAll']),
  },
  {
    displayName: 'Email of the Contact',
    name: 'email',
    type: 'string',
    placeholder: 'name@email.com',
    default: '',
    displayOptions: show(['message'], ['getAll']),
  },
  {
    displayName: 'Reason',
    name: 'reason',
    type: 'options',
    options: [
      { name: 'Competitor', value: 'competitor' },
      { name: 'Customer', value: 'customer' },
      { name: 'Legal', value: 'legal' },
      { name: 'Other', value: 'other' },
      { name: 'Requested', value: 'requested' },
    ],
    default: 'requested',
    displayOptions: show(['suppression'], ['add']),
  },
];
