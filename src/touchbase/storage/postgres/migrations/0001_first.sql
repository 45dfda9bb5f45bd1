-- The whole schema. Every primary and unique key begins with the client's number, so that PostgreSQL
-- can be sharded by client. Times are UTC microseconds. No triggers, no volatile defaults.

CREATE TABLE id_block (
  name text NOT NULL PRIMARY KEY,
  next bigint NOT NULL
);
INSERT INTO id_block (name, next)
VALUES ('client', 1), ('contact', 1), ('company', 1), ('custom_field', 1), ('delivery', 1), ('link', 1);

CREATE TABLE client (
  id bigint NOT NULL PRIMARY KEY,
  client_id text NOT NULL UNIQUE,
  created_us bigint NOT NULL,
  settings text NOT NULL
);

CREATE TABLE api_key (
  key_id text NOT NULL PRIMARY KEY,
  digest bytea NOT NULL,
  scopes text NOT NULL,
  client bigint,
  name text NOT NULL,
  created_us bigint NOT NULL
);

CREATE TABLE company (
  client bigint NOT NULL,
  id bigint NOT NULL,
  created_us bigint NOT NULL,
  updated_us bigint NOT NULL,
  domain text NOT NULL,
  name text,
  from_api bigint NOT NULL,
  initial_status text,
  status text,
  previous_status text,
  status_changed_us bigint,
  status_entry_us bigint,
  status_entry_key text,
  status_cause text,
  stamps text,
  PRIMARY KEY (client, id)
);
CREATE UNIQUE INDEX company_domain ON company (client, domain);
CREATE INDEX company_status ON company (client, status, id) WHERE status IS NOT NULL;
CREATE INDEX company_updated ON company (client, updated_us, id);

CREATE TABLE contact (
  client bigint NOT NULL,
  id bigint NOT NULL,
  created_us bigint NOT NULL,
  updated_us bigint NOT NULL,
  email text,
  email_key text,
  linkedin_url text,
  linkedin_key text,
  first_name text,
  last_name text,
  company_id bigint,
  origin text,
  from_api bigint NOT NULL,
  initial_status text,
  status text,
  previous_status text,
  status_changed_us bigint,
  status_entry_us bigint,
  status_entry_key text,
  status_cause text,
  first_sent_us bigint,
  last_sent_us bigint,
  last_reply_us bigint,
  stamps text,
  PRIMARY KEY (client, id),
  FOREIGN KEY (client, company_id) REFERENCES company (client, id)
);
CREATE UNIQUE INDEX contact_email ON contact (client, email_key) WHERE email_key IS NOT NULL;
CREATE UNIQUE INDEX contact_linkedin ON contact (client, linkedin_key) WHERE linkedin_key IS NOT NULL;
CREATE INDEX contact_status ON contact (client, status, id) WHERE status IS NOT NULL;
CREATE INDEX contact_company ON contact (client, company_id, id) WHERE company_id IS NOT NULL;
CREATE INDEX contact_updated ON contact (client, updated_us, id);

-- One row for each custom field of a record; a NULL value is a field that was taken away.
CREATE TABLE custom_field (
  client bigint NOT NULL,
  record_kind bigint NOT NULL,
  record_id bigint NOT NULL,
  name text NOT NULL,
  id bigint NOT NULL,
  value text,
  updated_us bigint NOT NULL,
  priority bigint NOT NULL,
  stamped_us bigint NOT NULL,
  stamp_key text NOT NULL,
  PRIMARY KEY (client, record_kind, record_id, name)
);

-- Which record a tool's object (or a former e-mail address: tool '') stands for. record_id is NULL
-- while it is not known; the object's events then wait under record_kind 3 and the link's id.
CREATE TABLE link (
  client bigint NOT NULL,
  tool text NOT NULL,
  object_type text NOT NULL,
  object_id text NOT NULL,
  id bigint NOT NULL,
  record_kind bigint,
  record_id bigint,
  PRIMARY KEY (client, tool, object_type, object_id)
);
CREATE INDEX link_record ON link (client, record_kind, record_id) WHERE record_id IS NOT NULL;

-- The history of every record, clustered by record and time: one b-tree serves the timeline, the
-- recognition of repeats and folding anew.
CREATE TABLE event (
  client bigint NOT NULL,
  record_kind bigint NOT NULL,
  record_id bigint NOT NULL,
  occurred_us bigint NOT NULL,
  key text NOT NULL,
  event text NOT NULL,
  effect text NOT NULL,
  status text,
  tool text NOT NULL,
  channel text NOT NULL,
  campaign text,
  delivery_id bigint,
  received_us bigint NOT NULL,
  via bigint NOT NULL,
  detail text NOT NULL,
  PRIMARY KEY (client, record_kind, record_id, occurred_us, key)
);
CREATE INDEX event_delivery ON event (client, delivery_id) WHERE delivery_id IS NOT NULL;

-- The inbox. The body lies apart so that a change of state never rewrites it.
CREATE TABLE delivery (
  client bigint NOT NULL,
  id bigint NOT NULL,
  channel text NOT NULL,
  state text NOT NULL,
  received_us bigint NOT NULL,
  tool text,
  attempts bigint NOT NULL,
  repeats bigint NOT NULL,
  error text,
  applied_us bigint,
  next_attempt_us bigint NOT NULL,
  size bigint NOT NULL,
  key bytea NOT NULL,
  PRIMARY KEY (client, id)
);
CREATE UNIQUE INDEX delivery_key ON delivery (client, key);
CREATE INDEX delivery_waiting ON delivery (client, next_attempt_us, id) WHERE state = 'received';
CREATE INDEX delivery_stuck ON delivery (client, state, id) WHERE state IN ('parked', 'unrecognised', 'failed');

CREATE TABLE delivery_body (
  client bigint NOT NULL,
  id bigint NOT NULL,
  query text NOT NULL,
  headers bytea NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (client, id)
);
