import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  NodeConnectionTypes,
  NodeOperationError,
  type IDataObject,
  type IHookFunctions,
  type IHttpRequestOptions,
  type INodeType,
  type INodeTypeDescription,
  type IWebhookFunctions,
  type IWebhookResponseData,
} from 'n8n-workflow';

const ENDPOINTS = '/public/v2/webhook-endpoints';
const TYPES = [
  'contact.created', 'contact.updated', 'contact.status_changed', 'contact.replied', 'contact.merged', 'contact.deleted',
  'contact.restored', 'contact.erased', 'company.created', 'company.updated', 'company.status_changed', 'company.merged',
  'company.deleted', 'company.restored', 'message.received', 'message.sent', 'suppression.added', 'suppression.removed',
  'delivery.failed', 'delivery.unrecognised', 'connection.silent', 'connection.resumed',
];
/** Seconds that an event may be old: what is older may be sent again by somebody who recorded it. */
const OLDEST = 300;

interface Endpoint {
  id: number;
  secret?: string;
  url: string;
}

/** Send a request to Touchbase with the node's credentials. */
async function ask(hook: IHookFunctions, options: IHttpRequestOptions): Promise<IDataObject> {
  const credentials = await hook.getCredentials('touchbaseApi');
  const baseURL = String(credentials.url).replace(/\/+$/, '');
  return (await hook.helpers.httpRequestWithAuthentication.call(hook, 'touchbaseApi', { json: true, ...options, baseURL })) as IDataObject;
}

/** Whether one of the signatures is that of the body (Standard Webhooks). */
export function isSigned(secret: string, headers: IDataObject, body: Buffer, now: number): boolean {
  const id = String(headers['webhook-id'] ?? '');
  const at = String(headers['webhook-timestamp'] ?? '');
  if (!id || !/^\d+$/.test(at) || Math.abs(now / 1000 - Number(at)) > OLDEST) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${at}.`).update(body).digest();
  return String(headers['webhook-signature'] ?? '').split(' ').some((each) => {
    const given = Buffer.from(each.replace(/^v1,/, ''), 'base64');
    return each.startsWith('v1,') && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

export class TouchbaseTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Touchbase Trigger',
    name: 'touchbaseTrigger',
    icon: 'file:touchbase.svg',
    group: ['trigger'],
    version: 1,
    subtitle: '={{ $parameter.types.join(", ") }}',
    description: 'Begin a workflow when something changes in Touchbase, such as a reply',
    defaults: { name: 'Touchbase Trigger' },
    usableAsTool: true,
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'touchbaseApi', required: true }],
    webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: 'onReceived', path: 'touchbase', rawBody: true } as never],
    properties: [
      {
        displayName: 'Events',
        name: 'types',
        type: 'multiOptions',
        options: TYPES.map((value) => ({ name: value, value })),
        default: ['contact.replied'],
        required: true,
        description: 'What begins the workflow. The text of a reply comes with message.received.',
      },
    ],
  };

  webhookMethods = {
    default: {
      async checkExists(this: IHookFunctions): Promise<boolean> {
        const known = this.getWorkflowStaticData('node');
        if (known.id === undefined) return false;
        try {
          const found = (await ask(this, { method: 'GET', url: `${ENDPOINTS}/${String(known.id)}` })) as unknown as Endpoint;
          return found.url === this.getNodeWebhookUrl('default');
        } catch {
          return false; // it was removed in Touchbase: another one is added
        }
      },

      async create(this: IHookFunctions): Promise<boolean> {
        const url = this.getNodeWebhookUrl('default');
        const body = { url, types: this.getNodeParameter('types') as string[], description: `n8n: ${this.getWorkflow().name ?? 'workflow'}` };
        const made = (await ask(this, { method: 'POST', url: ENDPOINTS, body })) as unknown as Endpoint;
        if (!made.secret) throw new NodeOperationError(this.getNode(), 'Touchbase sent no secret with the new endpoint');
        Object.assign(this.getWorkflowStaticData('node'), { id: made.id, secret: made.secret });
        return true;
      },

      async delete(this: IHookFunctions): Promise<boolean> {
        const known = this.getWorkflowStaticData('node');
        if (known.id !== undefined) {
          try {
            await ask(this, { method: 'DELETE', url: `${ENDPOINTS}/${String(known.id)}` });
          } catch {
            return false;
          }
        }
        delete known.id;
        delete known.secret;
        return true;
      },
    },
  };

  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const request = this.getRequestObject() as unknown as { rawBody?: Buffer; body: IDataObject };
    const known = this.getWorkflowStaticData('node');
    const raw = request.rawBody ?? Buffer.from(JSON.stringify(request.body));
    if (!isSigned(String(known.secret ?? ''), this.getHeaderData() as IDataObject, raw, Date.now())) {
      const response = this.getResponseObject();
      response.status(401).send('the signature is not that of this endpoint');
      return { noWebhookResponse: true };
    }
    return { workflowData: [this.helpers.returnJsonArray(this.getBodyData())] };
  }
}
