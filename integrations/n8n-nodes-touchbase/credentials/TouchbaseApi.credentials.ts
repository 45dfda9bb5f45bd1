import type {
  Icon,
  ICredentialDataDecryptedObject,
  ICredentialTestRequest,
  ICredentialType,
  IHttpRequestOptions,
  INodeProperties,
} from 'n8n-workflow';

export class TouchbaseApi implements ICredentialType {
  name = 'touchbaseApi';

  displayName = 'Touchbase API';

  icon: Icon = { light: 'file:../nodes/Touchbase/touchbase.svg', dark: 'file:../nodes/Touchbase/touchbase.dark.svg' };

  properties: INodeProperties[] = [
    {
      displayName: 'Address',
      name: 'url',
      type: 'string',
      default: 'https://touchbase.example.com',
      description: 'The address of your Touchbase, without /public',
      required: true,
    },
    {
      displayName: 'API Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      default: '',
      description: 'A key for records that can read and write; the trigger needs the scope admin, which may be limited to one client. Leave it empty for a Touchbase without keys.',
    },
    {
      displayName: 'Client',
      name: 'clientId',
      type: 'string',
      default: '',
      description: 'The client to work for, if the key is not limited to one',
    },
  ];

  /** Headers of what is filled in only: an empty one is a fault. */
  authenticate = async (credentials: ICredentialDataDecryptedObject, request: IHttpRequestOptions): Promise<IHttpRequestOptions> => {
    const headers = { ...request.headers };
    if (credentials.apiKey) headers.Authorization = `Bearer ${String(credentials.apiKey)}`;
    if (credentials.clientId) headers['X-Client-Id'] = String(credentials.clientId);
    return { ...request, headers };
  };

  test: ICredentialTestRequest = {
    request: { baseURL: '={{ $credentials.url.replace(/\\/+$/, "") }}', url: '/public/v2/contacts', qs: { limit: 1 } },
  };
}
