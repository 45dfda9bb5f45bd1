import {
  NodeConnectionTypes,
  NodeOperationError,
  type IDataObject,
  type IHookFunctions,
  type INodeType,
  type INodeTypeDescription,
  type IWebhookFunctions,
  type IWebhookResponseData,
} from 'n8n-workflow';

import { addEndpoint, changeEndpoint, endpointsTo, getEndpoint, removeEndpoint } from './endpoints';
import { isSigned } from './signature';

const TYPES = [
  'client.storage_warning', 'company.created', 'company.deleted', 'company.merged', 'company.restored', 'company.status_changed', 'company.updated',
  'connection.resumed', 'connection.silent', 'contact.created', 'contact.deleted', 'contact.erased', 'contact.meeting_booked',
  'contact.meeting_canceled', 'contact.meeting_no_show', 'contact.meeting_rescheduled', 'contact.merged',
  'contact.replied', 'contact.restored', 'contact.status_changed', 'contact.updated', 'conversation.answered', 'conversation.assigned', 'conversation.done', 'conversation.reopened', 'conversation.updated', 'delivery.failed', 'delivery.unrecognised',
  'installation_suppression.added', 'installation_suppression.removed', 'message.received', 'message.sent', 'note.created', 'note.deleted', 'note.updated', 'status.renamed', 'suppression.added', 'suppression.removed', 'task.created', 'task.deleted', 'task.done', 'task.updated',
];

export class TouchbaseTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Touchbase Trigger',
    name: 'touchbaseTrigger',
    icon: { light: 'file:touchbase.svg', dark: 'file:touchbase.dark.svg' },
    group: ['trigger'],
    version: 1,
    subtitle: '={{ $parameter.types.join(", ") }}',
    description: 'Begin a workflow when something changes in Touchbase, such as a reply',
    defaults: { name: 'Touchbase Trigger' },
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'touchbaseApi', required: true }],
    webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: 'onReceived', path: 'touchbase' }],
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
        if (typeof known.id !== 'number' || !known.secret) return false;
        const found = await getEndpoint(this, known.id);
        if (!found || found.url !== this.getNodeWebhookUrl('default')) return false;
        const types = this.getNodeParameter('types') as string[];
        if (found.types.join() !== types.join()) await changeEndpoint(this, known.id, { types });
        return true;
      },

      async create(this: IHookFunctions): Promise<boolean> {
        const url = this.getNodeWebhookUrl('default') as string;
        // Their secret is not known any more: n8n ended before it had stored it, or its data was restored from a backup.
        for (const each of await endpointsTo(this, url)) await removeEndpoint(this, each.id);
        const name = this.getWorkflow().name ?? 'a workflow';
        const types = this.getNodeParameter('types') as string[];
        const made = await addEndpoint(this, { url, types, description: `n8n: ${name}`.slice(0, 200) });
        if (!made?.secret) throw new NodeOperationError(this.getNode(), 'Touchbase sent no secret with the new endpoint');
        Object.assign(this.getWorkflowStaticData('node'), { id: made.id, secret: made.secret });
        return true;
      },

      async delete(this: IHookFunctions): Promise<boolean> {
        const known = this.getWorkflowStaticData('node');
        if (typeof known.id === 'number') await removeEndpoint(this, known.id);
        delete known.id;
        delete known.secret;
        return true;
      },
    },
  };

  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const request = this.getRequestObject() as unknown as { rawBody?: Buffer; readRawBody?: () => Promise<void> };
    if (!request.rawBody) await request.readRawBody?.();
    const { secret } = this.getWorkflowStaticData('node');
    const headers = this.getHeaderData() as IDataObject;
    if (!request.rawBody || !isSigned(String(secret ?? ''), headers, request.rawBody, Date.now())) {
      this.getResponseObject().status(401).json({ detail: 'the signature is not that of this endpoint' });
      return { noWebhookResponse: true };
    }
    const event = this.getBodyData();
    // A test of the endpoint asks whether events would arrive; the workflow's actions have nothing to do.
    if (event.type === 'endpoint.test') return { webhookResponse: { received: true } };
    return { webhookResponse: { received: true }, workflowData: [this.helpers.returnJsonArray(event)] };
  }
}
