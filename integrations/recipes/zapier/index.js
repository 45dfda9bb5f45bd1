// A private Zapier app for Touchbase: one instant trigger and two actions. `zapier-platform push` uploads it; see docs/how-to/use-n8n-zapier-make.md.
const EVENTS = ["message.received", "contact.replied", "contact.status_changed", "contact.created", "company.status_changed", "suppression.added"];
const SAMPLE = {
  id: "evt_4711", type: "contact.replied", timestamp: "2026-11-20T09:30:00Z",
  data: { id: "evt_4711", client_id: "acme", record_id: 1042, object: { id: 1042, email: "jane@example.com", contact_status: "replied" }, changed: {} },
};

const at = (bundle, path) => bundle.authData.url.replace(/\/+$/, "") + path;

const withKey = (request, z, bundle) => {
  if (bundle.authData.key) request.headers.Authorization = `Bearer ${bundle.authData.key}`;
  if (bundle.authData.client_id) request.headers["X-Client-Id"] = bundle.authData.client_id;
  return request;
};

// Zapier shows this text to the person.
const inItsWords = (response, z) => {
  if (response.status < 400 || response.request.skipThrowForStatus) return response;
  const problem = response.json || {};
  const faults = (problem.errors || []).map((each) => `${each.pointer || ""} ${each.detail || ""}`.trim());
  throw new z.errors.Error([problem.detail || `status ${response.status}`, ...faults].join("; "), problem.code || "Error", response.status);
};

const subscribe = async (z, bundle) =>
  (await z.request({
    method: "POST", url: at(bundle, "/public/v2/webhook-endpoints"),
    body: { url: bundle.targetUrl, types: [bundle.inputData.type], description: "Zapier" },
  })).data;

// Zapier gives back what subscribe returned. One that is gone already is fine.
const unsubscribe = async (z, bundle) => {
  const gone = await z.request({ method: "DELETE", url: at(bundle, `/public/v2/webhook-endpoints/${bundle.subscribeData.id}`), skipThrowForStatus: true });
  return { status: gone.status };
};

const samples = async (z, bundle) =>
  (await z.request({ url: at(bundle, "/public/v2/events/samples"), params: { types: bundle.inputData.type } })).data.data;

const record = [
  { key: "email", required: true }, { key: "first_name" }, { key: "last_name" }, { key: "contact_status", label: "Status" },
  { key: "company_id", label: "Company", helpText: "The domain of a company in Touchbase." },
];

const filled = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== ""));

module.exports = {
  version: require("./package.json").version,
  platformVersion: require("./package.json").dependencies["zapier-platform-core"],
  authentication: {
    type: "custom",
    fields: [
      { key: "url", label: "Address", required: true, helpText: "Such as https://touchbase.example.com, without /public." },
      { key: "key", label: "API key", type: "password", helpText: "With the scope admin, limited to one client: it adds and removes endpoints." },
      { key: "client_id", label: "Client", helpText: "If the key is not limited to one client." },
    ],
    test: { url: "{{bundle.authData.url}}/public/v2/contacts", params: { limit: 1 } },
    connectionLabel: "{{bundle.authData.url}}",
  },
  beforeRequest: [withKey],
  afterResponse: [inItsWords],
  triggers: {
    event: {
      key: "event", noun: "Event",
      display: { label: "New Event", description: "Triggers when something changes in Touchbase, such as a reply." },
      operation: {
        type: "hook",
        inputFields: [{ key: "type", label: "Event", required: true, choices: EVENTS, default: "message.received" }],
        performSubscribe: subscribe,
        performUnsubscribe: unsubscribe,
        perform: (z, bundle) => [bundle.cleanedRequest],
        performList: samples,
        sample: SAMPLE,
      },
    },
  },
  creates: {
    contact: {
      key: "contact", noun: "Contact",
      display: { label: "Create or Update Contact", description: "Changes the contact with this e-mail address, or creates it." },
      operation: {
        inputFields: record,
        perform: async (z, bundle) =>
          (await z.request({
            method: "PUT", url: at(bundle, "/public/v2/contacts"), params: { match: "email", structure: "FLAT" }, body: filled(bundle.inputData),
          })).data,
        sample: SAMPLE.data.object,
      },
    },
    suppression: {
      key: "suppression", noun: "Entry",
      display: { label: "Add to the Do-Not-Contact List", description: "Puts an address or a domain on the list." },
      operation: {
        inputFields: [{ key: "value", label: "Address or domain", required: true }],
        perform: async (z, bundle) =>
          (await z.request({ method: "POST", url: at(bundle, "/public/v2/suppressions"), body: { value: bundle.inputData.value, source: "api" } })).data,
        sample: { value: "bob@example.net" },
      },
    },
  },
};
