-- The whole schema. Every primary and unique key begins with the client's number, so that PostgreSQL
-- can be sharded by client. Times are UTC microseconds. No triggers, no volatile defaults.

CREATE TABLE id_block (
  name TEXT NOT NULL PRIMARY KEY,
  next INTEGER NOT NULL
) STRICT;
INSERT INTO id_block (name, next)
VALUES ('client', 1), ('contact', 1), ('company', 1), ('custom_field', 1), ('delivery', 1), ('link', 1);

CREATE TABLE client (
  id INTEGER NOT NULL PRIMARY KEY,
  client_id TEXT NOT NULL UNIQUE,
  created_us INTEGER NOT NULL,
  settings TEXT NOT NULL
) STRICT;

CREATE TABLE api_key (
  key_id TEXT NOT NULL PRIMARY KEY,
  digest BLOB NOT NULL,
  scopes TEXT NOT NULL,
  client INTEGER,
  name TEXT NOT NULL,
  created_us INTEGER NOT NULL
) STRICT;

CREATE TABLE company (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,
  domain TEXT NOT NULL,
  name TEXT,
  from_api INTEGER NOT NULL,
  initial_status TEXT,
  status TEXT,
  previous_status TEXT,
  status_changed_us INTEGER,
  status_entry_us INTEGER,
  status_entry_key TEXT,
  status_cause TEXT,
  stamps TEXT,
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX company_domain ON company (client, domain);
CREATE INDEX company_status ON company (client, status, id) WHERE status IS NOT NULL;
CREATE INDEX company_updated ON company (client, updated_us, id);

CREATE TABLE contact (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,
  email TEXT,
  email_key TEXT,
  linkedin_url TEXT,
  linkedin_key TEXT,
  first_name TEXT,
  last_name TEXT,
  company_id INTEGER,
  origin TEXT,
  from_api INTEGER NOT NULL,
  initial_status TEXT,
  status TEXT,
  previous_status TEXT,
  status_changed_us INTEGER,
  status_entry_us INTEGER,
  status_entry_key TEXT,
  status_cause TEXT,
  first_sent_us INTEGER,
  last_sent_us INTEGER,
  last_reply_us INTEGER,
  stamps TEXT,
  PRIMARY KEY (client, id),
  FOREIGN KEY (client, company_id) REFERENCES company (client, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX contact_email ON contact (client, email_key) WHERE email_key IS NOT NULL;
CREATE UNIQUE INDEX contact_linkedin ON contact (client, linkedin_key) WHERE linkedin_key IS NOT NULL;
CREATE INDEX contact_status ON contact (client, status, id) WHERE status IS NOT NULL;
CREATE INDEX contact_company ON contact (client, company_id, id) WHERE company_id IS NOT NULL;
CREATE INDEX contact_updated ON contact (client, updated_us, id);

-- One row for each custom field of a record; a NULL value is a field that was taken away.
CREATE TABLE custom_field (
  client INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  id INTEGER NOT NULL,
  value TEXT,
  updated_us INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  stamped_us INTEGER NOT NULL,
  stamp_key TEXT NOT NULL,
  PRIMARY KEY (client, record_kind, record_id, name)
) STRICT, WITHOUT ROWID;

-- Which record a tool's object (or a former e-mail address: tool '') stands for. record_id is NULL
-- while it is not known; the object's events then wait under record_kind 3 and the link's id.
CREATE TABLE link (
  client INTEGER NOT NULL,
  tool TEXT NOT NULL,
  object_type TEXT NOT NULL,
  object_id TEXT NOT NULL,
  id INTEGER NOT NULL,
  record_kind INTEGER,
  record_id INTEGER,
  PRIMARY KEY (client, tool, object_type, object_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_record ON link (client, record_kind, record_id) WHERE record_id IS NOT NULL;

-- The history of every record, clustered by record and time: one b-tree serves the timeline, the
-- recognition of repeats and folding anew.
CREATE TABLE event (
  client INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  occurred_us INTEGER NOT NULL,
  key TEXT NOT NULL,
  event TEXT NOT NULL,
  effect TEXT NOT NULL,
  status TEXT,
  tool TEXT NOT NULL,
  channel TEXT NOT NULL,
  campaign TEXT,
  delivery_id INTEGER,
  received_us INTEGER NOT NULL,
  via INTEGER NOT NULL,
  detail TEXT NOT NULL,
  PRIMARY KEY (client, record_kind, record_id, occurred_us, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_delivery ON event (client, delivery_id) WHERE delivery_id IS NOT NULL;

-- The inbox. The body lies apart so that a change of state never rewrites it.
CREATE TABLE delivery (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  channel TEXT NOT NULL,
  state TEXT NOT NULL,
  received_us INTEGER NOT NULL,
  tool TEXT,
  attempts INTEGER NOT NULL,
  repeats INTEGER NOT NULL,
  error TEXT,
  applied_us INTEGER,
  next_attempt_us INTEGER NOT NULL,
  size INTEGER NOT NULL,
  key BLOB NOT NULL,
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX delivery_key ON delivery (client, key);
CREATE INDEX delivery_waiting ON delivery (client, next_attempt_us, id) WHERE state = 'received';
CREATE INDEX delivery_stuck ON delivery (client, state, id) WHERE state IN ('parked', 'unrecognised', 'failed');

-- Large rows sit best in a rowid table, and delivery ids are unique over all clients.
CREATE TABLE delivery_body (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL PRIMARY KEY,
  query TEXT NOT NULL,
  headers BLOB NOT NULL,
  body BLOB NOT NULL
) STRICT;

-- How a large store looks, told once: without it SQLite takes ten rows for what a client has, and walks all
-- of them where an index waits. Fixed figures keep the plans the same on every store; never run ANALYZE.
ANALYZE;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('contact', 'contact', '1000000 100000 1'),
  ('contact', 'contact_email', '1000000 100000 1'),
  ('contact', 'contact_linkedin', '500000 50000 1'),
  ('contact', 'contact_status', '1000000 100000 10000 1'),
  ('contact', 'contact_company', '1000000 100000 10 1'),
  ('contact', 'contact_updated', '1000000 100000 2 1'),
  ('company', 'company', '100000 10000 1'),
  ('company', 'company_domain', '100000 10000 1'),
  ('company', 'company_status', '100000 10000 1000 1'),
  ('company', 'company_updated', '100000 10000 2 1'),
  ('custom_field', 'custom_field', '2000000 200000 100000 2 1'),
  ('link', 'link', '1000000 100000 50000 25000 1'),
  ('link', 'link_record', '1000000 100000 50000 1'),
  ('event', 'event', '10000000 1000000 500000 10 2 1'),
  ('event', 'event_delivery', '10000000 1000000 2'),
  ('delivery', 'delivery', '10000000 1000000 1'),
  ('delivery', 'delivery_key', '10000000 1000000 1'),
  ('delivery', 'delivery_waiting', '10000 1000 10 1'),
  ('delivery', 'delivery_stuck', '10000 1000 300 1'),
  ('delivery_body', NULL, '10000000');
