-- The whole schema, table by table.
--
-- Columns that end in `_us` are times in microseconds since 1970-01-01 00:00 UTC. Flags are 0 or 1. JSON is stored as text.
-- `client` is the number of the client that a row belongs to (client.id); every primary key of a client's data begins with it.
-- `record_kind` is 1 for a contact, 2 for a company, 3 for an object of a tool whose record is not known yet.
-- Ids come from id_block. There are no triggers and no volatile defaults.

-- ---------------------------------------------------------------------------------------------------------------------
-- The store itself

-- The next free id of each kind of row; a process takes a block of ids at a time. The row `first_key` is a lock: it is held while
-- a store gets its first API key.
CREATE TABLE id_block (
  name TEXT NOT NULL PRIMARY KEY,
  next INTEGER NOT NULL
) STRICT;

-- Secrets that the store made for itself, in clear. `erasure` is the key of the hashes in `erased`.
CREATE TABLE server_secret (
  name TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT;

-- The ids of the encryption keys that encrypted something in this store. `canary` is a text encrypted with the key: a start with a
-- wrong or missing key is noticed by it. A row goes when nothing is encrypted with its key any more.
CREATE TABLE encryption_key (
  key_id TEXT NOT NULL PRIMARY KEY,
  canary TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- ---------------------------------------------------------------------------------------------------------------------
-- Clients, API keys, connections

-- The organisations that records belong to.
CREATE TABLE client (
  id INTEGER NOT NULL PRIMARY KEY,
  client_id TEXT NOT NULL UNIQUE,         -- the id in addresses and headers; it can be rotated
  created_us INTEGER NOT NULL,
  settings TEXT NOT NULL,                 -- JSON (ClientSettings)
  name TEXT NOT NULL DEFAULT '',          -- for people
  state TEXT NOT NULL DEFAULT 'active',   -- active, suspended, deleting
  state_us INTEGER,                       -- since when it is in this state; NULL: since its creation
  removed INTEGER NOT NULL DEFAULT 0,     -- rows removed since its deletion began
  rows_total INTEGER,                     -- rows it had when its deletion began; NULL: not counted
  made_by TEXT                            -- administrator, or call: the first request that named it; NULL: not known
) STRICT;
CREATE INDEX client_deleting ON client (state) WHERE state = 'deleting';

-- Former values of client.client_id. They are accepted until `until_us`, and never given to another client while theirs exists.
CREATE TABLE client_alias (
  client_id TEXT NOT NULL PRIMARY KEY,
  client INTEGER NOT NULL,
  until_us INTEGER NOT NULL
) STRICT;
CREATE INDEX client_alias_client ON client_alias (client, client_id);

-- API keys. The text of a key is not stored.
CREATE TABLE api_key (
  key_id TEXT NOT NULL PRIMARY KEY,
  digest BLOB NOT NULL,                   -- SHA-256 of the key's text
  scopes TEXT NOT NULL,                   -- JSON array
  client INTEGER,                         -- NULL: the key is for all clients
  name TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  env TEXT NOT NULL DEFAULT 'live',       -- the word after tb_ in the key's text
  expires_us INTEGER,
  revoked_us INTEGER,
  last_used_us INTEGER,                   -- to the minute
  replaces TEXT,                          -- key_id of the key before a rotation
  replaced_by TEXT                        -- key_id of the key after a rotation
) STRICT;
CREATE INDEX api_key_client ON api_key (client, key_id);

-- The tools that a client has connected.
CREATE TABLE connection (
  client INTEGER NOT NULL,
  channel TEXT NOT NULL,                  -- email_campaign or crm
  tool TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,
  secrets TEXT NOT NULL,                  -- what its webhooks must prove to know: JSON array, encrypted unless it is empty
  settings TEXT NOT NULL,                 -- JSON (ConnectionSettings)
  access_token TEXT NOT NULL DEFAULT '',  -- for requests to the tool's API, encrypted; '': records are not fetched
  secrets_since_us INTEGER,               -- since when it has secrets; a delivery that came unverified before may still be its tool's
  PRIMARY KEY (client, channel, tool)
) STRICT, WITHOUT ROWID;

-- ---------------------------------------------------------------------------------------------------------------------
-- Records. The columns from initial_status to status_cause, and the dates of mails, are computed from the events of the record.

CREATE TABLE company (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,
  domain TEXT NOT NULL,                   -- in its normal form
  name TEXT,
  from_api INTEGER NOT NULL,              -- 1: created by a request, 0: by an event
  initial_status TEXT,                    -- the status given at creation
  status TEXT,
  previous_status TEXT,
  status_changed_us INTEGER,
  status_entry_us INTEGER,                -- time and key of the newest event that counts for the status: an older one that
  status_entry_key TEXT,                  -- arrives later makes the status be computed from all events again
  status_cause TEXT,                      -- the effect (event.effect) that set the status
  stamps TEXT,                            -- JSON: of each field the write that set it, as [priority, time, key]; NULL: the creation
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX company_domain ON company (client, domain);
CREATE INDEX company_created ON company (client, created_us, id);
CREATE INDEX company_updated ON company (client, updated_us, id);
CREATE INDEX company_status ON company (client, status, created_us, id) WHERE status IS NOT NULL;
CREATE INDEX company_status_updated ON company (client, status, updated_us, id) WHERE status IS NOT NULL;

CREATE TABLE contact (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,
  email TEXT,                             -- as the client wrote it
  email_key TEXT,                         -- its normal form, by which contacts are found
  linkedin_url TEXT,
  linkedin_key TEXT,                      -- its normal form
  first_name TEXT,
  last_name TEXT,
  company_id INTEGER,
  origin TEXT,
  from_api INTEGER NOT NULL,              -- this and the next seven as in company
  initial_status TEXT,
  status TEXT,
  previous_status TEXT,
  status_changed_us INTEGER,
  status_entry_us INTEGER,
  status_entry_key TEXT,
  status_cause TEXT,
  first_sent_us INTEGER,                  -- the first and the last mail to it, and its last reply
  last_sent_us INTEGER,
  last_reply_us INTEGER,
  stamps TEXT,                            -- as in company
  PRIMARY KEY (client, id),
  FOREIGN KEY (client, company_id) REFERENCES company (client, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX contact_email ON contact (client, email_key) WHERE email_key IS NOT NULL;
CREATE UNIQUE INDEX contact_linkedin ON contact (client, linkedin_key) WHERE linkedin_key IS NOT NULL;
CREATE INDEX contact_created ON contact (client, created_us, id);
CREATE INDEX contact_updated ON contact (client, updated_us, id);
CREATE INDEX contact_status ON contact (client, status, created_us, id) WHERE status IS NOT NULL;
CREATE INDEX contact_status_updated ON contact (client, status, updated_us, id) WHERE status IS NOT NULL;
CREATE INDEX contact_company ON contact (client, company_id, created_us, id) WHERE company_id IS NOT NULL;

-- One row for each custom field of a record.
CREATE TABLE custom_field (
  client INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  id INTEGER NOT NULL,
  value TEXT,                             -- NULL: the field was removed; the row stays so that an older write cannot bring it back
  updated_us INTEGER NOT NULL,
  priority INTEGER NOT NULL,              -- the write that set the value: its priority, time and key (as in contact.stamps)
  stamped_us INTEGER NOT NULL,
  stamp_key TEXT NOT NULL,
  created_us INTEGER NOT NULL DEFAULT 0,  -- fields are listed in the order of it
  PRIMARY KEY (client, record_kind, record_id, name)
) STRICT, WITHOUT ROWID;

-- Identity links: which record a tool's object stands for; with the tool '' a former primary key of a record.
CREATE TABLE link (
  client INTEGER NOT NULL,
  tool TEXT NOT NULL,
  object_type TEXT NOT NULL,              -- the tool's word for it, such as person
  object_id TEXT NOT NULL,
  id INTEGER NOT NULL,
  record_kind INTEGER,                    -- NULL: the record is not known; the object's events are stored as of kind 3 with the
  record_id INTEGER,                      -- link's id. Kind 3 here: they are stored with the id in record_id, after a merge in the tool
  PRIMARY KEY (client, tool, object_type, object_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_record ON link (client, record_kind, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX link_waiting ON link (client, id) WHERE record_id IS NULL;

-- Contacts that belong to a company of a CRM which is not known yet, with the time and key of the newest event that says so.
CREATE TABLE pending_company_link (
  client INTEGER NOT NULL,
  tool TEXT NOT NULL,
  object_type TEXT NOT NULL,              -- the company's object, as in link
  object_id TEXT NOT NULL,
  record_kind INTEGER NOT NULL,           -- the contact
  record_id INTEGER NOT NULL,
  stamped_us INTEGER NOT NULL,
  stamp_key TEXT NOT NULL,
  PRIMARY KEY (client, tool, object_type, object_id, record_kind, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_company_link_record ON pending_company_link (client, record_kind, record_id);

-- The history of every record: one row for each fact from a delivery or an API write, clustered by record and time. The timeline,
-- the recognition of repeated facts and the computation of records all read it by its primary key.
CREATE TABLE event (
  client INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  occurred_us INTEGER NOT NULL,           -- when it happened, as the tool says; else when it was received
  key TEXT NOT NULL,                      -- identifies the fact: made of the tool's event id, or of the content
  event TEXT NOT NULL,                    -- such as email_replied, contact.updated
  effect TEXT NOT NULL,                   -- what it does to the status (history/status.py); '': nothing
  status TEXT,
  tool TEXT NOT NULL,                     -- api for an API write
  channel TEXT NOT NULL,                  -- api for an API write
  campaign TEXT,
  delivery_id INTEGER,                    -- NULL for an API write
  received_us INTEGER NOT NULL,
  via INTEGER NOT NULL,                   -- what led to the record. 0: API write, 1: e-mail address, 2: LinkedIn address, 3: link, 4: domain
  detail TEXT NOT NULL,                   -- JSON: the values that it sets, and what the timeline shows
  PRIMARY KEY (client, record_kind, record_id, occurred_us, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_delivery ON event (client, delivery_id) WHERE delivery_id IS NOT NULL;
-- Whether a client has a fact already, on any record. API writes are left out, as each has a key of its own.
CREATE INDEX event_key ON event (client, key, occurred_us) WHERE delivery_id IS NOT NULL;

-- ---------------------------------------------------------------------------------------------------------------------
-- The inbox: received webhooks

CREATE TABLE delivery (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  channel TEXT NOT NULL,
  state TEXT NOT NULL,                    -- received, applied, ignored, parked, unrecognised, failed
  received_us INTEGER NOT NULL,
  tool TEXT,                              -- NULL: not recognised, or not read yet
  attempts INTEGER NOT NULL,
  repeats INTEGER NOT NULL,               -- how often the same bytes came again
  error TEXT,                             -- why it changed nothing, in a sentence
  applied_us INTEGER,                     -- when it was applied or ignored
  next_attempt_us INTEGER NOT NULL,       -- not before this time; below zero: a replay, at this time plus 2^52
  size INTEGER NOT NULL,                  -- bytes of the body
  key BLOB NOT NULL,                      -- the dedupe key: 16 bytes, made of body, channel, query and the headers that name the event
  verified INTEGER,                       -- 1: its sender was proved, 0: no proof was required; NULL: older than that
  shape TEXT,                             -- the event's name and the keys of the body, to group deliveries that changed nothing
  body_removed TEXT,                      -- why its body was removed: erased, retention; NULL: the body is there
  body_removed_us INTEGER,
  duplicate_of INTEGER,                   -- id of the delivery with equal bytes that it came after
  dated INTEGER,                          -- 1: all its facts have a time or an id, so that equal bytes are a repeat; NULL: not read yet
  problems TEXT,                          -- JSON: what had no effect, by code (history/problems.py)
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_waiting ON delivery (client, next_attempt_us, id) WHERE state = 'received';
-- Written with OR: for IN (...), SQLite makes a table of the list for each row and each of these indexes.
CREATE INDEX delivery_stuck ON delivery (client, state, id) WHERE state = 'parked' OR state = 'unrecognised' OR state = 'failed';
CREATE INDEX delivery_shape ON delivery (client, state, channel, tool, shape, received_us)
  WHERE state = 'parked' OR state = 'unrecognised' OR state = 'failed';
CREATE INDEX delivery_oldest ON delivery (state, received_us) WHERE state = 'parked' OR state = 'unrecognised' OR state = 'failed';
CREATE INDEX delivery_with_body ON delivery (client, applied_us, id) WHERE applied_us IS NOT NULL AND body_removed IS NULL;
CREATE INDEX delivery_problems ON delivery (client, id) WHERE problems IS NOT NULL;
-- Bodies that no adapter understands and nothing verified: found by age, and their sizes added up.
CREATE INDEX delivery_unproven ON delivery (client, id, size, received_us)
  WHERE state = 'unrecognised' AND body_removed IS NULL AND (verified IS NULL OR verified = 0);

-- What was received, apart from its delivery, so that a change of state does not write it again.
-- A rowid table suits large rows, and ids of deliveries are unique over all clients.
CREATE TABLE delivery_body (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL PRIMARY KEY,        -- delivery.id
  query TEXT NOT NULL,
  headers BLOB NOT NULL,                  -- JSON object, without secrets
  body BLOB NOT NULL
) STRICT;

-- The deliveries of the last hour by dedupe key. As a table of its own it stays small, and a delivery needs no index by its key.
CREATE TABLE dedupe_key (
  client INTEGER NOT NULL,
  key BLOB NOT NULL,                      -- delivery.key
  delivery_id INTEGER NOT NULL,           -- the last delivery with this key
  received_us INTEGER NOT NULL,
  duplicate_of INTEGER,                   -- id of the delivery before it with this key
  PRIMARY KEY (client, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX dedupe_key_received ON dedupe_key (client, received_us);

-- Refused webhooks, without their bodies: the newest 1,000 of each client. Client 0: the address names no client.
CREATE TABLE refusal (
  client INTEGER NOT NULL,
  received_us INTEGER NOT NULL,
  id INTEGER NOT NULL,
  client_id TEXT NOT NULL,                -- the id in the address
  channel TEXT NOT NULL,
  tool TEXT,                              -- the tool that it looks like; NULL: none
  cause TEXT NOT NULL,                    -- a code of inbox/refused.py
  size INTEGER NOT NULL,                  -- bytes of the body
  calls INTEGER NOT NULL,                 -- how many alike came within a second
  headers TEXT NOT NULL,                  -- JSON object
  PRIMARY KEY (client, received_us, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX refusal_newest ON refusal (received_us, id);

-- ---------------------------------------------------------------------------------------------------------------------
-- Enrichment: records fetched from a tool's API

-- How requests to a tool's API go.
CREATE TABLE fetch_state (
  client INTEGER NOT NULL,
  tool TEXT NOT NULL,
  next_us INTEGER NOT NULL,               -- no request before this time: a pause, or another worker's request under way
  failures INTEGER NOT NULL,              -- in a row
  stopped INTEGER NOT NULL,               -- 1: not asked again before its connection is changed
  error TEXT,                             -- the last failure, in a sentence
  error_us INTEGER,
  fetched_us INTEGER,                     -- when a record came last
  PRIMARY KEY (client, tool)
) STRICT, WITHOUT ROWID;

-- The queue of objects to fetch.
CREATE TABLE fetch_queue (
  client INTEGER NOT NULL,
  tool TEXT NOT NULL,
  object_type TEXT NOT NULL,              -- as in link
  object_id TEXT NOT NULL,
  rank INTEGER NOT NULL,                  -- 0: events wait for it; 1: its record is known, only values changed
  thin INTEGER NOT NULL,                  -- 1: its webhooks leave out what changed
  requested_us INTEGER NOT NULL,          -- when a webhook asked for it last
  next_us INTEGER,                        -- not before this time; NULL: the tool does not have it, until a webhook is about it again
  attempts INTEGER NOT NULL,
  PRIMARY KEY (client, tool, object_type, object_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX fetch_queue_due ON fetch_queue (client, tool, rank, next_us) WHERE next_us IS NOT NULL;

-- ---------------------------------------------------------------------------------------------------------------------
-- Idempotency

-- Responses to requests with an Idempotency-Key, stored in the transaction of their write. Client 0: a request of an administrator
-- of all clients.
CREATE TABLE idempotency_key (
  client INTEGER NOT NULL,
  key TEXT NOT NULL,
  fingerprint BLOB NOT NULL,              -- hash of the request, to notice another one with the same key
  record_kind INTEGER,                    -- the record whose values are in the response, so that erasing it finds the row
  record_id INTEGER,
  created_us INTEGER NOT NULL,
  expires_us INTEGER NOT NULL,
  response BLOB NOT NULL,                 -- status, headers and body, packed by the HTTP layer
  PRIMARY KEY (client, key)
) STRICT;
CREATE INDEX idempotency_key_record ON idempotency_key (client, record_kind, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX idempotency_key_expires ON idempotency_key (expires_us);

-- ---------------------------------------------------------------------------------------------------------------------
-- Erasure of people

-- Each erasure: how far the inbox was searched, and what was removed. It holds nothing of the person.
CREATE TABLE erasure (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  requested_us INTEGER NOT NULL,
  done_us INTEGER,                        -- NULL: under way
  swept_to INTEGER NOT NULL,              -- the last delivery that was searched; -1: records first
  sweep_until INTEGER NOT NULL,           -- the last delivery to search; later ones are checked when they are applied
  removed TEXT NOT NULL,                  -- JSON object: rows removed, by kind
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX erasure_open ON erasure (client, id) WHERE done_us IS NULL;

-- Suppression: keyed hashes of erased identities, so that a later webhook does not bring the person back.
CREATE TABLE erased (
  client INTEGER NOT NULL,
  digest BLOB NOT NULL,                   -- hashed with server_secret 'erasure'
  erasure INTEGER NOT NULL,               -- erasure.id
  derived INTEGER NOT NULL,               -- 1: an object that was only seen together with an erased identity
  erased_us INTEGER NOT NULL,
  PRIMARY KEY (client, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX erased_together ON erased (client, erasure);

-- ---------------------------------------------------------------------------------------------------------------------
-- Figures for the query planner, as in a large store, and the first rows of id_block

-- Without figures SQLite expects ten rows where a client has many, and reads all of them where an index exists. Fixed figures give
-- every store the same plans, so ANALYZE is never run on rows; here it only makes the table.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('company', 'company', '100000 10000 1'),
  ('company', 'company_domain', '100000 10000 1'),
  ('company', 'company_created', '100000 10000 1 1'),
  ('company', 'company_updated', '100000 10000 2 1'),
  ('company', 'company_status', '100000 10000 1000 1 1'),
  ('company', 'company_status_updated', '100000 10000 1000 2 1'),
  ('contact', 'contact', '1000000 100000 1'),
  ('contact', 'contact_email', '1000000 100000 1'),
  ('contact', 'contact_linkedin', '500000 50000 1'),
  ('contact', 'contact_created', '1000000 100000 1 1'),
  ('contact', 'contact_updated', '1000000 100000 2 1'),
  ('contact', 'contact_status', '1000000 100000 10000 1 1'),
  ('contact', 'contact_status_updated', '1000000 100000 10000 2 1'),
  ('contact', 'contact_company', '1000000 100000 10 1 1'),
  ('custom_field', 'custom_field', '2000000 200000 100000 2 1'),
  ('link', 'link', '1000000 100000 50000 25000 1'),
  ('link', 'link_record', '1000000 100000 50000 1'),
  ('pending_company_link', 'pending_company_link', '100000 10000 5000 5000 10 10 1'),
  ('pending_company_link', 'pending_company_link_record', '100000 10000 10000 2 1 1 1'),
  ('event', 'event', '10000000 1000000 500000 10 2 1'),
  ('event', 'event_delivery', '10000000 1000000 2'),
  ('event', 'event_key', '10000000 1000000 2 1 1 1'),
  ('delivery', 'delivery', '10000000 1000000 1'),
  ('delivery', 'delivery_waiting', '10000 1000 10 1'),
  ('delivery', 'delivery_stuck', '10000 1000 300 1'),
  ('delivery', 'delivery_with_body', '3000000 300000 2 1'),
  ('delivery', 'delivery_problems', '10000 1000 1'),
  ('delivery', 'delivery_unproven', '10000 1000 1 1 1'),
  ('delivery_body', NULL, '10000000'),
  ('dedupe_key', 'dedupe_key', '1000000 100000 1'),
  ('dedupe_key', 'dedupe_key_received', '1000000 100000 2'),
  ('erasure', 'erasure', '30000 3000 1'),
  ('erased', 'erased', '100000 10000 1'),
  ('erased', 'erased_together', '100000 10000 3 1');

INSERT INTO id_block (name, next) VALUES
  ('client', 1), ('contact', 1), ('company', 1), ('custom_field', 1), ('delivery', 1), ('link', 1), ('erasure', 1), ('refusal', 1),
  ('first_key', 1);

-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
