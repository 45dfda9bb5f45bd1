import { NodeApiError, type IDataObject, type IHookFunctions, type IHttpRequestMethods, type JsonObject } from 'n8n-workflow';

import { wordsOf } from '../Touchbase/requests';

const ENDPOINTS = '/public/v2/webhook-endpoints';

export interface Endpoint {
  id: number;
  secret?: string;
  types: string[];
  url: string;
}

interface Page {
  data: Endpoint[];
  next_cursor: string | null;
}

/** Send a request to Touchbase with the node's credentials; return its body, undefined for a 404. */
async function ask<Answer>(hook: IHookFunctions, method: IHttpRequestMethods, url: string, more: { body?: IDataObject; qs?: IDataObject } = {}): Promise<Answer | undefined> {
  const credentials = await hook.getCredentials('touchbaseApi');
  const baseURL = String(credentials.url).replace(/\/+$/, '');
  const response = (await hook.helpers.httpRequestWithAuthentication.call(hook, 'touchbaseApi', {
    method, url, baseURL, json: true, returnFullResponse: true, ignoreHttpStatusErrors: true, ...more,
  })) as { body: unknown; statusCode: number };
  if (response.statusCode === 404) return undefined;
  if (response.statusCode >= 400) {
    const message = wordsOf(response.body, response.statusCode);
    throw new NodeApiError(hook.getNode(), (response.body ?? {}) as JsonObject, { message, httpCode: String(response.statusCode) });
  }
  return response.body as Answer;
}

/** Return one endpoint, undefined if there is none. */
export const getEndpoint = async (hook: IHookFunctions, id: number) => await ask<Endpoint>(hook, 'GET', `${ENDPOINTS}/${id}`);

/** Add an endpoint; its secret is shown in this response only, so no key for repeated requests is sent. */
export const addEndpoint = async (hook: IHookFunctions, body: IDataObject) => await ask<Endpoint>(hook, 'POST', ENDPOINTS, { body });

/** Change what an endpoint gets. */
export const changeEndpoint = async (hook: IHookFunctions, id: number, body: IDataObject) => await ask<Endpoint>(hook, 'PATCH', `${ENDPOINTS}/${id}`, { body });

/** Remove an endpoint; one that is gone already is fine. */
export const removeEndpoint = async (hook: IHookFunctions, id: number) => await ask(hook, 'DELETE', `${ENDPOINTS}/${id}`);

/** Return the endpoints that send to an address. */
export async function endpointsTo(hook: IHookFunctions, url: string): Promise<Endpoint[]> {
  const found: Endpoint[] = [];
  let cursor: string | null = null;
  do {
    const page: Page | undefined = await ask<Page>(hook, 'GET', ENDPOINTS, { qs: cursor ? { limit: 200, cursor } : { limit: 200 } });
    found.push(...(page?.data ?? []).filter((each) => each.url === url));
    cursor = page?.next_cursor ?? null;
  } while (cursor);
  return found;
}
