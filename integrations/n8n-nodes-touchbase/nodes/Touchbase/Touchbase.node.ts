import { NodeConnectionTypes, type INodeType, type INodeTypeDescription } from 'n8n-workflow';

import { operations } from './operations';
import { parameters } from './parameters';

export class Touchbase implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Touchbase',
    name: 'touchbase',
    icon: { light: 'file:touchbase.svg', dark: 'file:touchbase.dark.svg' },
    group: ['transform'],
    version: 1,
    subtitle: '={{ $parameter.operation + ": " + $parameter.resource }}',
    description: 'Look up, create and change contacts and companies in Touchbase',
    defaults: { name: 'Touchbase' },
    usableAsTool: true,
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'touchbaseApi', required: true }],
    requestDefaults: {
      baseURL: '={{ $credentials.url.replace(/\\/+$/, "") }}',
      headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
    },
    properties: [...operations, ...parameters],
  };
}
