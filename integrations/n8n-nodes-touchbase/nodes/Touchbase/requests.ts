import { createHash, randomUUID } from 'node:crypto';
import {
  NodeApiError,
  NodeOperationError,
  type IDataObject,
  type IExecuteSingleFunctions,
  type IHttpRequestOptions,
  type IN8nHttpFullResponse,
  type INodeExecutionData,
  type JsonObject,
} from 'n8n-workflow';

interface Problem {
  detail?: string;
  errors?: Array<{ pointer?: string; detail?: string }>;
  title?: string;
}

/** Return what the API says about a refused request: its sentence, and one about each wrong member. */
export function wordsOf(problem: unknown, status: number): string {
  const { detail, errors, title } = (typeof problem === 'object' && problem !== null ? problem : {}) as Problem;
  const faults = (errors ?? []).map((each) => `${each.pointer ?? ''} ${each.detail ?? ''}`.trim()).filter((each) => each && each !== detail);
  return [detail ?? title ?? `Touchbase responded with the status ${status}`, ...faults].join('; ');
}

/** Send the JSON of a parameter as the body. */
export function bodyFrom(parameter: string, member?: string) {
  return async function (this: IExecuteSingleFunctions, request: IHttpRequestOptions): Promise<IHttpRequestOptions> {
    const given = this.getNodeParameter(parameter, {});
    let value: unknown = given;
    if (typeof given === 'string') {
      try {
        value = JSON.parse(given.trim() || '{}');
      } catch (error) {
        throw new NodeOperationError(this.getNode(), `"${parameter}" is no JSON: ${(error as Error).message}`, { itemIndex: this.getItemIndex() });
      }
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new NodeOperationError(this.getNode(), `"${parameter}" must be a JSON object, such as { "email": "jane@example.com" }`, {
        itemIndex: this.getItemIndex(),
      });
    }
    const body = (request.body ?? {}) as IDataObject;
    request.body = member === undefined ? { ...body, ...(value as IDataObject) } : { ...body, [member]: value as IDataObject };
    return request;
  };
}

/**
 * Give a write a key, so that a repeated attempt at the same item changes nothing twice.
 *
 * The key is that of one item in one run of the node in one execution: n8n's "Retry On Fail" sends it again, another round of a loop does not.
 */
export async function onceOnly(this: IExecuteSingleFunctions, request: IHttpRequestOptions): Promise<IHttpRequestOptions> {
  const execution = this.getExecutionId();
  const place = [this.getWorkflow().id, execution, this.getNode().id, this.evaluateExpression('{{ $runIndex }}', this.getItemIndex()), this.getItemIndex()];
  const what = JSON.stringify([place, request.method, request.url, request.qs, request.body]);
  const key = execution ? createHash('sha256').update(what).digest('hex') : randomUUID();
  request.headers = { ...request.headers, 'Idempotency-Key': `"n8n-${key}"` };
  return request;
}

/** Raise what the API says, if it refused the request. */
export async function refuse(
  this: IExecuteSingleFunctions,
  items: INodeExecutionData[],
  response: IN8nHttpFullResponse,
): Promise<INodeExecutionData[]> {
  const status = response.statusCode;
  if (status < 400) return items;
  const problem = (response.body ?? {}) as JsonObject;
  throw new NodeApiError(this.getNode(), problem, {
    message: wordsOf(problem, status),
    description: typeof problem.code === 'string' ? problem.code : undefined,
    httpCode: String(status),
    itemIndex: this.getItemIndex(),
  });
}
