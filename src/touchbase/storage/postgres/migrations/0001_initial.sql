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
  name text NOT NULL PRIMARY KEY,
  next bigint NOT NULL
);

-- Secrets that the store made for itself, in clear. `erasure` is the key of the hashes in `erased`.
CREATE TABLE server_secret (
  name text NOT NULL PRIMARY KEY,
  value bytea NOT NULL
);

-- The ids of the encryption keys that encrypted something in this store. `canary` is a text encrypted with the key: a start with a
-- wrong or missing key is noticed by it. A row goes when nothing is encrypted with its key any more.
CREATE TABLE encryption_key (
  key_id text NOT NULL PRIMARY KEY,
  canary text NOT NULL
);

-- ---------------------------------------------------------------------------------------------------------------------
-- Clients, API keys, connections

-- The organisations that records belong to.
CREATE TABLE client (
  id bigint NOT NULL PRIMARY KEY,
  client_id text NOT NULL UNIQUE,         -- the id in addresses and headers; it can be rotated
  created_us bigint NOT NULL,
  settings text NOT NULL,                 -- JSON (ClientSettings)
  name text NOT NULL DEFAULT '',          -- for people
  state text NOT NULL DEFAULT 'active',   -- active, suspended, deleting
  state_us bigint,                        -- since when it is in this state; NULL: since its creation
  removed bigint NOT NULL DEFAULT 0,      -- rows removed since its deletion began
  rows_total bigint,                      -- rows it had when its deletion began; NULL: not counted
  made_by text                            -- administrator, or call: the first request that named it; NULL: not known
);
CREATE INDEX client_deleting ON client (state) WHERE state = 'deleting';

-- Former values of client.client_id. They are accepted until `until_us`, and never given to another client while theirs exists.
CREATE TABLE client_alias (
  client_id text NOT NULL PRIMARY KEY,
  client bigint NOT NULL,
  until_us bigint NOT NULL
);
CREATE INDEX client_alias_client ON client_alias (client, client_id);

-- API keys. The text of a key is not stored.
CREATE TABLE api_key (
  key_id text NOT NULL PRIMARY KEY,
  digest bytea NOT NULL,                  -- SHA-256 of the key's text
  scopes text NOT NULL,                   -- JSON array
  client bigint,                          -- NULL: the key is for all clients
  name text NOT NULL,
  created_us bigint NOT NULL,
  env text NOT NULL DEFAULT 'live',       -- the word after tb_ in the key's text
  expires_us bigint,
  revoked_us bigint,
  last_used_us bigint,                    -- to the minute
  replaces text,                          -- key_id of the key before a rotation
  replaced_by text                        -- key_id of the key after a rotation
);
CREATE INDEX api_key_client ON api_key (client, key_id);

-- The tools that a client has connected.
CREATE TABLE connection (
  client bigint NOT NULL,
  channel text NOT NULL,                  -- email_campaign or crm
  tool text NOT NULL,
  created_us bigint NOT NULL,
  updated_us bigint NOT NULL,
  secrets text NOT NULL,                  -- what its webhooks must prove to know: JSON array, encrypted unless it is empty
  settings text NOT NULL,                 -- JSON (ConnectionSettings)
  access_token text NOT NULL DEFAULT '',  -- for requests to the tool's API, encrypted; '': records are not fetched
  secrets_since_us bigint,                -- since when it has secrets; a delivery that came unverified before may still be its tool's
  PRIMARY KEY (client, channel, tool)
);

-- ---------------------------------------------------------------------------------------------------------------------
-- Records. The columns from initial_status to status_cause, and the dates of mails, are computed from the events of the record.

CREATE TABLE company (
  client bigint NOT NULL,
  id bigint NOT NULL,
  created_us bigint NOT NULL,
  updated_us bigint NOT NULL,
  domain text NOT NULL,                   -- in its normal form
  name text,
  from_api bigint NOT NULL,               -- 1: created by a request, 0: by an event
  initial_status text,                    -- the status given at creation
  status text,
  previous_status text,
  status_changed_us bigint,
  status_entry_us bigint,                 -- time and key of the newest event that counts for the status: an older one that
  status_entry_key text,                  -- arrives later makes the status be computed from all events again
  status_cause text,                      -- the effect (event.effect) that set the status
  stamps text,                            -- JSON: of each field the write that set it, as [priority, time, key]; NULL: the creation
  PRIMARY KEY (client, id)
);
CREATE UNIQUE INDEX company_domain ON company (client, domain);
CREATE INDEX company_created ON company (client, created_us, id);
CREATE INDEX company_updated ON company (client, updated_us, id);
CREATE INDEX company_status ON company (client, status, created_us, id) WHERE status IS NOT NULL;
CREATE INDEX company_status_updated ON company (client, status, updated_us, id) WHERE status IS NOT NULL;

CREATE TABLE contact (
  client bigint NOT NULL,
  id bigint NOT NULL,
  created_us bigint NOT NULL,
  updated_us bigint NOT NULL,
  email text,                             -- as the client wrote it
  email_key text,                         -- its normal form, by which contacts are found
  linkedin_url text,
  linkedin_key text,                      -- its normal form
  first_name text,
  last_name text,
  company_id bigint,
  origin text,
  from_api bigint NOT NULL,               -- this and the next seven as in company
  initial_status text,
  status text,
  previous_status text,
  status_changed_us bigint,
  status_entry_us bigint,
  status_entry_key text,
  status_cause text,
  first_sent_us bigint,                   -- the first and the last mail to it, and its last reply
  last_sent_us bigint,
  last_reply_us bigint,
  stamps text,                            -- as in company
  PRIMARY KEY (client, id),
  FOREIGN KEY (client, company_id) REFERENCES company (client, id)
);
CREATE UNIQUE INDEX contact_email ON contact (client, email_key) WHERE email_key IS NOT NULL;
CREATE UNIQUE INDEX contact_linkedin ON contact (client, linkedin_key) WHERE linkedin_key IS NOT NULL;
CREATE INDEX contact_created ON contact (client, created_us, id);
CREATE INDEX contact_updated ON contact (client, updated_us, id);
CREATE INDEX contact_status ON contact (client, status, created_us, id) WHERE status IS NOT NULL;
CREATE INDEX contact_status_updated ON contact (client, status, updated_us, id) WHERE status IS NOT NULL;
CREATE INDEX contact_company ON contact (client, company_id, created_us, id) WHERE company_id IS NOT NULL;

-- One row for each custom field of a record.
CREATE TABLE custom_field (
  client bigint NOT NULL,
  record_kind bigint NOT NULL,
  record_id bigint NOT NULL,
  name text NOT NULL,
  id bigint NOT NULL,
  value text,                             -- NULL: the field was removed; the row stays so that an older write cannot bring it back
  updated_us bigint NOT NULL,
  priority bigint NOT NULL,               -- the write that set the value: its priority, time and key (as in contact.stamps)
  stamped_us bigint NOT NULL,
  stamp_key text NOT NULL,
  created_us bigint NOT NULL DEFAULT 0,   -- fields are listed in the order of it
  PRIMARY KEY (client, record_kind, record_id, name)
);

-- Identity links: which record a tool's object stands for; with the tool '' a former primary key of a record.
CREATE TABLE link (
  client bigint NOT NULL,
  tool text NOT NULL,
  object_type text NOT NULL,              -- the tool's word for it, such as person
  object_id text NOT NULL,
  id bigint NOT NULL,
  record_kind bigint,                     -- NULL: the record is not known; the object's events are stored as of kind 3 with the
  record_id bigint,                       -- link's id. Kind 3 here: they are stored with the id in record_id, after a merge in the tool
  PRIMARY KEY (client, tool, object_type, object_id)
);
CREATE INDEX link_record ON link (client, record_kind, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX link_waiting ON link (client, id) WHERE record_id IS NULL;

-- Contacts that belong to a company of a CRM which is not known yet, with the time and key of the newest event that says so.
CREATE TABLE pending_company_link (
  client bigint NOT NULL,
  tool text NOT NULL,
  object_type text NOT NULL,              -- the company's object, as in link
  object_id text NOT NULL,
  record_kind bigint NOT NULL,            -- the contact
  record_id bigint NOT NULL,
  stamped_us bigint NOT NULL,
  stamp_key text NOT NULL,
  PRIMARY KEY (client, tool, object_type, object_id, record_kind, record_id)
);
CREATE INDEX pending_company_link_record ON pending_company_link (client, record_kind, record_id);

-- The history of every record: one row for each fact from a delivery or an API write, clustered by record and time. The timeline,
-- the recognition of repeated facts and the computation of records all read it by its primary key.
CREATE TABLE event (
  client bigint NOT NULL,
  record_kind bigint NOT NULL,
  record_id bigint NOT NULL,
  occurred_us bigint NOT NULL,            -- when it happened, as the tool says; else when it was received
  key text NOT NULL,                      -- identifies the fact: made of the tool's event id, or of the content
  event text NOT NULL,                    -- such as email_replied, contact.updated
  effect text NOT NULL,                   -- what it does to the status (history/status.py); '': nothing
  status text,
  tool text NOT NULL,                     -- api for an API write
  channel text NOT NULL,                  -- api for an API write
  campaign text,
  delivery_id bigint,                     -- NULL for an API write
  received_us bigint NOT NULL,
  via bigint NOT NULL,                    -- what led to the record. 0: API write, 1: e-mail address, 2: LinkedIn address, 3: link, 4: domain
  detail text NOT NULL,                   -- JSON: the values that it sets, and what the timeline shows
  PRIMARY KEY (client, record_kind, record_id, occurred_us, key)
);
CREATE INDEX event_delivery ON event (client, delivery_id) WHERE delivery_id IS NOT NULL;
-- Whether a client has a fact already, on any record. API writes are left out, as each has a key of its own.
CREATE INDEX event_key ON event (client, key, occurred_us) WHERE delivery_id IS NOT NULL;

-- ---------------------------------------------------------------------------------------------------------------------
-- The inbox: received webhooks

CREATE TABLE delivery (
  client bigint NOT NULL,
  id bigint NOT NULL,
  channel text NOT NULL,
  state text NOT NULL,                    -- received, applied, ignored, parked, unrecognised, failed
  received_us bigint NOT NULL,
  tool text,                              -- NULL: not recognised, or not read yet
  attempts bigint NOT NULL,
  repeats bigint NOT NULL,                -- how often the same bytes came again
  error text,                             -- why it changed nothing, in a sentence
  applied_us bigint,                      -- when it was applied or ignored
  next_attempt_us bigint NOT NULL,        -- not before this time; below zero: a replay, at this time plus 2^52
  size bigint NOT NULL,                   -- bytes of the body
  key bytea NOT NULL,                     -- the dedupe key: 16 bytes, made of body, channel, query and the headers that name the event
  verified bigint,                        -- 1: its sender was proved, 0: no proof was required; NULL: older than that
  shape text,                             -- the event's name and the keys of the body, to group deliveries that changed nothing
  body_removed text,                      -- why its body was removed: erased, retention; NULL: the body is there
  body_removed_us bigint,
  duplicate_of bigint,                    -- id of the delivery with equal bytes that it came after
  dated bigint,                           -- 1: all its facts have a time or an id, so that equal bytes are a repeat; NULL: not read yet
  problems text,                          -- JSON: what had no effect, by code (history/problems.py)
  PRIMARY KEY (client, id)
);
CREATE INDEX delivery_waiting ON delivery (client, next_attempt_us, id) WHERE state = 'received';
CREATE INDEX delivery_stuck ON delivery (client, state, id) WHERE state IN ('parked', 'unrecognised', 'failed');
CREATE INDEX delivery_shape ON delivery (client, state, channel, tool, shape, received_us)
  WHERE state IN ('parked', 'unrecognised', 'failed');
CREATE INDEX delivery_oldest ON delivery (state, received_us) WHERE state IN ('parked', 'unrecognised', 'failed');
CREATE INDEX delivery_with_body ON delivery (client, applied_us, id) WHERE applied_us IS NOT NULL AND body_removed IS NULL;
CREATE INDEX delivery_problems ON delivery (client, id) WHERE problems IS NOT NULL;
-- Bodies that no adapter understands and nothing verified: found by age, and their sizes added up.
CREATE INDEX delivery_unproven ON delivery (client, id, size, received_us)
  WHERE state = 'unrecognised' AND body_removed IS NULL AND (verified IS NULL OR verified = 0);

-- What was received, apart from its delivery, so that a change of state does not write it again.
CREATE TABLE delivery_body (
  client bigint NOT NULL,
  id bigint NOT NULL,                     -- delivery.id
  query text NOT NULL,
  headers bytea NOT NULL,                 -- JSON object, without secrets
  body bytea NOT NULL,
  PRIMARY KEY (client, id)
);

-- The deliveries of the last hour by dedupe key. As a table of its own it stays small, and a delivery needs no index by its key.
CREATE TABLE dedupe_key (
  client bigint NOT NULL,
  key bytea NOT NULL,                     -- delivery.key
  delivery_id bigint NOT NULL,            -- the last delivery with this key
  received_us bigint NOT NULL,
  duplicate_of bigint,                    -- id of the delivery before it with this key
  PRIMARY KEY (client, key)
);
CREATE INDEX dedupe_key_received ON dedupe_key (client, received_us);

-- Refused webhooks, without their bodies: the newest 1,000 of each client. Client 0: the address names no client.
CREATE TABLE refusal (
  client bigint NOT NULL,
  received_us bigint NOT NULL,
  id bigint NOT NULL,
  client_id text NOT NULL,                -- the id in the address
  channel text NOT NULL,
  tool text,                              -- the tool that it looks like; NULL: none
  cause text NOT NULL,                    -- a code of inbox/refused.py
  size bigint NOT NULL,                   -- bytes of the body
  calls bigint NOT NULL,                  -- how many alike came within a second
  headers text NOT NULL,                  -- JSON object
  PRIMARY KEY (client, received_us, id)
);
CREATE INDEX refusal_newest ON refusal (received_us, id);

-- ---------------------------------------------------------------------------------------------------------------------
-- Enrichment: records fetched from a tool's API

-- How requests to a tool's API go.
CREATE TABLE fetch_state (
  client bigint NOT NULL,
  tool text NOT NULL,
  next_us bigint NOT NULL,                -- no request before this time: a pause, or another worker's request under way
  failures bigint NOT NULL,               -- in a row
  stopped bigint NOT NULL,                -- 1: not asked again before its connection is changed
  error text,                             -- the last failure, in a sentence
  error_us bigint,
  fetched_us bigint,                      -- when a record came last
  PRIMARY KEY (client, tool)
);

-- The queue of objects to fetch.
CREATE TABLE fetch_queue (
  client bigint NOT NULL,
  tool text NOT NULL,
  object_type text NOT NULL,              -- as in link
  object_id text NOT NULL,
  rank bigint NOT NULL,                   -- 0: events wait for it; 1: its record is known, only values changed
  thin bigint NOT NULL,                   -- 1: its webhooks leave out what changed
  requested_us bigint NOT NULL,           -- when a webhook asked for it last
  next_us bigint,                         -- not before this time; NULL: the tool does not have it, until a webhook is about it again
  attempts bigint NOT NULL,
  PRIMARY KEY (client, tool, object_type, object_id)
);
CREATE INDEX fetch_queue_due ON fetch_queue (client, tool, rank, next_us) WHERE next_us IS NOT NULL;

-- ---------------------------------------------------------------------------------------------------------------------
-- Idempotency

-- Responses to requests with an Idempotency-Key, stored in the transaction of their write. Client 0: a request of an administrator
-- of all clients.
CREATE TABLE idempotency_key (
  client bigint NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,             -- hash of the request, to notice another one with the same key
  record_kind bigint,                     -- the record whose values are in the response, so that erasing it finds the row
  record_id bigint,
  created_us bigint NOT NULL,
  expires_us bigint NOT NULL,
  response bytea NOT NULL,                -- status, headers and body, packed by the HTTP layer
  PRIMARY KEY (client, key)
);
CREATE INDEX idempotency_key_record ON idempotency_key (client, record_kind, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX idempotency_key_expires ON idempotency_key (expires_us);

-- ---------------------------------------------------------------------------------------------------------------------
-- Erasure of people

-- Each erasure: how far the inbox was searched, and what was removed. It holds nothing of the person.
CREATE TABLE erasure (
  client bigint NOT NULL,
  id bigint NOT NULL,
  requested_us bigint NOT NULL,
  done_us bigint,                         -- NULL: under way
  swept_to bigint NOT NULL,               -- the last delivery that was searched; -1: records first
  sweep_until bigint NOT NULL,            -- the last delivery to search; later ones are checked when they are applied
  removed text NOT NULL,                  -- JSON object: rows removed, by kind
  PRIMARY KEY (client, id)
);
CREATE INDEX erasure_open ON erasure (client, id) WHERE done_us IS NULL;

-- Suppression: keyed hashes of erased identities, so that a later webhook does not bring the person back.
CREATE TABLE erased (
  client bigint NOT NULL,
  digest bytea NOT NULL,                  -- hashed with server_secret 'erasure'
  erasure bigint NOT NULL,                -- erasure.id
  derived bigint NOT NULL,                -- 1: an object that was only seen together with an erased identity
  erased_us bigint NOT NULL,
  PRIMARY KEY (client, digest)
);
CREATE INDEX erased_together ON erased (client, erasure);

-- ---------------------------------------------------------------------------------------------------------------------
-- Row-level security, and the first rows of id_block

-- A row is visible, and can be written or removed, only in a transaction whose scope includes its client. The scope is the setting
-- touchbase.clients (storage/rls_scope.py): ',1,5,9,' for three clients; 'all' for all of them; 'clients' for the tables that say
-- which clients exist, their former ids, and hashes of whom they erased; empty or unset for none. FORCE, as the server connects
-- as the tables' owner. The loop covers every table with a column `client`, and client itself.
DO $$
DECLARE
  tenant record;
BEGIN
  FOR tenant IN
    SELECT c.relname AS name, a.attname AS client,
      CASE WHEN c.relname IN ('client', 'client_alias', 'erased') THEN '(''all'', ''clients'')' ELSE '(''all'')' END AS wide
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT a.attisdropped
      AND a.attname = CASE c.relname WHEN 'client' THEN 'id' ELSE 'client' END
    ORDER BY c.relname
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant.name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant.name);
    -- A search in text: an array would be parsed again for every row, and Citus refuses a subquery.
    EXECUTE format(
      'CREATE POLICY of_client ON %I USING (strpos(current_setting(''touchbase.clients'', true), '','' || %I || '','') > 0 '
      'OR current_setting(''touchbase.clients'', true) IN %s)', tenant.name, tenant.client, tenant.wide);
  END LOOP;
END
$$;

INSERT INTO id_block (name, next) VALUES
  ('client', 1), ('contact', 1), ('company', 1), ('custom_field', 1), ('delivery', 1), ('link', 1), ('erasure', 1), ('refusal', 1),
  ('first_key', 1);
