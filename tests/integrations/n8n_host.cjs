// A host for the built node: what n8n gives a node, as small as the node needs it. One JSON command a line, one JSON response a line.
const http = require("node:http");
const path = require("node:path");
const readline = require("node:readline");

const NODE = process.argv[2];
const credentials = {};
const { Touchbase } = require(path.join(NODE, "dist/nodes/Touchbase/Touchbase.node.js"));
const { TouchbaseTrigger } = require(path.join(NODE, "dist/nodes/TouchbaseTrigger/TouchbaseTrigger.node.js"));
const { TouchbaseApi } = require(path.join(NODE, "dist/credentials/TouchbaseApi.credentials.js"));

const evaluated = (text, scope) => new Function(...Object.keys(scope), `return (${text});`)(...Object.values(scope));

/** Resolve expressions as n8n does: a text that begins with an equals sign, alone or with text around it. */
function resolve(value, scope) {
  if (Array.isArray(value)) return value.map((each) => resolve(each, scope));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolve(each, scope)]));
  if (typeof value !== "string" || !value.startsWith("=")) return value;
  const whole = /^=\s*\{\{((?:(?!\}\}).|\}\}(?=\s*\}))*)\}\}\s*$/s.exec(value);
  if (whole) return evaluated(whole[1], scope);
  return value.slice(1).replace(/\{\{(.*?)\}\}/gs, (_, inner) => String(evaluated(inner, scope)));
}

async function send(asked) {
  const options = await new TouchbaseApi().authenticate(credentials, asked);
  const headers = { ...options.headers };
  const url = new URL((options.baseURL ?? "") + options.url);
  for (const [name, value] of Object.entries(options.qs ?? {})) if (value !== undefined) url.searchParams.set(name, value);
  const has = options.body !== undefined && options.method !== "GET" && options.method !== "DELETE";
  if (has) headers["Content-Type"] = "application/json";
  const response = await fetch(url, { method: options.method, headers, body: has ? JSON.stringify(options.body) : undefined });
  const text = await response.text();
  const body = text && (response.headers.get("content-type") ?? "").includes("json") ? JSON.parse(text) : text;
  if (!response.ok && !options.ignoreHttpStatusErrors) throw new Error(`Request failed with status code ${response.status}`);
  return { statusCode: response.status, headers: Object.fromEntries(response.headers), body };
}

const isShown = (property, given) =>
  Object.entries(property.displayOptions?.show ?? {}).every(([name, values]) => values.includes(given[name]));
const node = { id: "node-1", name: "Touchbase", type: "touchbase", typeVersion: 1, parameters: {}, position: [0, 0] };

/** Run one operation on one item: the request that its description says. */
async function execute({ parameters: given, execution = "7", run = 0, item = 0 }) {
  const { properties, requestDefaults } = new Touchbase().description;
  const parameters = { ...given };
  for (const each of properties) if (!(each.name in parameters) && isShown(each, parameters)) parameters[each.name] = each.default;
  const scope = { $parameter: parameters, $credentials: credentials, $runIndex: run, $itemIndex: item };
  const context = {
    getNode: () => node, getItemIndex: () => item, getExecutionId: () => execution, getWorkflow: () => ({ id: "wf" }),
    getNodeParameter: (name, otherwise) => parameters[name] ?? otherwise, evaluateExpression: (text) => resolve(`=${text}`, scope),
  };
  let options = resolve(requestDefaults, scope);
  const before = [], after = [];
  for (const each of properties.filter((one) => isShown(one, parameters))) {
    const value = parameters[each.name];
    const chosen = each.type === "options" ? each.options.find((one) => one.value === value)?.routing : undefined;
    for (const routing of [each.routing, chosen].filter(Boolean)) {
      const request = resolve(routing.request ?? {}, scope);
      const merged = { ...options, ...request, headers: { ...options.headers, ...request.headers } };
      options = { ...merged, qs: { ...options.qs, ...request.qs } };
      const { type, property } = routing.send ?? {};
      if (type === "body") options.body = { ...options.body, [property]: value };
      if (type === "query") options.qs = { ...options.qs, [property]: value };
      before.push(...(routing.send?.preSend ?? []));
      after.push(...(routing.output?.postReceive ?? []));
    }
  }
  for (const each of before) options = await each.call(context, options);
  const response = await send(options);
  let items = [{ json: response.body }];
  for (const each of after) {
    if (typeof each === "function") items = await each.call(context, items, response);
    else items = items.flatMap((one) => one.json[each.properties.property].map((json) => ({ json })));
  }
  return { items: items.map((one) => one.json), headers: response.headers, sent: options.headers };
}

const memory = {}, received = [], answers = [];
let types = [], target = "";
const trigger = new TouchbaseTrigger();
const hook = {
  getNode: () => node, getWorkflow: () => ({ id: "wf", name: "Replies" }), getWorkflowStaticData: () => memory,
  getNodeWebhookUrl: () => target, getNodeParameter: () => types, getCredentials: async () => credentials,
  helpers: { httpRequestWithAuthentication: async (_, options) => await send(options) },
};
const server = http.createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece)).on("end", async () => {
    const whole = Buffer.concat(pieces);
    const answer = (status, body) => { answers.push(status); response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)); };
    const express = { status: (status) => ({ json: (body) => answer(status, body) }) };
    const asked = { readRawBody: async () => { asked.rawBody = whole; } };
    const made = await trigger.webhook.call({
      getRequestObject: () => asked, getHeaderData: () => request.headers, getBodyData: () => JSON.parse(whole), getNode: () => node,
      getResponseObject: () => express, getWorkflowStaticData: () => memory,
      helpers: { returnJsonArray: (json) => [json].flat().map((each) => ({ json: each })) },
    });
    if (made.noWebhookResponse) return;
    for (const each of made.workflowData?.[0] ?? []) received.push(each.json);
    answer(200, made.webhookResponse ?? { message: "Workflow was started" });
  });
});

const methods = trigger.webhookMethods.default;
const commands = {
  execute,
  connect: async (given) => Object.assign(credentials, given),
  test: async () => {
    const { request } = new TouchbaseApi().test;
    return await send({ ...resolve(request, { $credentials: credentials }), method: "GET", ignoreHttpStatusErrors: true });
  },
  activate: async (given) => {
    ({ types } = given);
    const existed = await methods.checkExists.call(hook);
    if (!existed) await methods.create.call(hook);
    return { existed, ...memory };
  },
  deactivate: async () => ({ done: await methods.delete.call(hook), ...memory }),
  forget: async () => { delete memory.id; delete memory.secret; return {}; },
  state: async () => ({ received, answers }),
};
server.listen(0, "127.0.0.1", () => {
  target = `http://127.0.0.1:${server.address().port}/webhook/1`;
  console.log(JSON.stringify({ target }));
  readline.createInterface({ input: process.stdin }).on("line", async (line) => {
    const { command, ...given } = JSON.parse(line);
    let answer;
    try { answer = await commands[command](given); } catch (error) { answer = { error: error.message, kind: error.constructor.name }; }
    console.log(JSON.stringify(answer));
  }).on("close", () => process.exit(0));
});
