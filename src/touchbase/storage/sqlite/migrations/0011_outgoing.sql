-- Outgoing webhooks: endpoints, how far each has been served, what it still misses, and attempts.

CREATE TABLE webhook_endpoint (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  url TEXT NOT NULL,
  types TEXT NOT NULL,  -- JSON list of event types; []: all
  fields TEXT NOT NULL,  -- JSON list of the members of the object that are sent; []: all
  filter TEXT NOT NULL,  -- JSON: kind of record -> filter tree; {}: none
  ordering TEXT NOT NULL,  -- per_record or none
  format TEXT NOT NULL,  -- standard or cloudevents
  rate INTEGER NOT NULL,  -- requests a second; 0: no limit
  description TEXT NOT NULL,
  secrets TEXT NOT NULL,  -- JSON list of [secret, the end of its overlap or null], the present one first; encrypted
  state TEXT NOT NULL,  -- active, paused, disabled
  reason TEXT,  -- why it is paused or disabled
  state_us INTEGER NOT NULL,  -- since when
  created_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,
  version INTEGER NOT NULL,  -- grows with each change that the process that serves it must see
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;

-- Apart from the endpoint, because it changes with each batch of requests.
CREATE TABLE webhook_position (
  client INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  start INTEGER NOT NULL,  -- events up to this sequence were logged before the endpoint was made
  position INTEGER NOT NULL,  -- all events up to this sequence are delivered, unless pending_webhook has them
  failing_since_us INTEGER,  -- the first failure after the last success; NULL: the last request succeeded
  delivered_us INTEGER,  -- the last success
  PRIMARY KEY (client, endpoint_id)
) STRICT, WITHOUT ROWID;

-- Events up to the position that are not delivered.
CREATE TABLE pending_webhook (
  client INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  record_kind INTEGER,
  record_id INTEGER,
  attempts INTEGER NOT NULL,
  first_us INTEGER NOT NULL,  -- when it began to wait
  next_us INTEGER,  -- NULL: all attempts failed, it waits for a replay
  PRIMARY KEY (client, endpoint_id, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_attempt (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  sequence INTEGER NOT NULL,  -- of the event; 0: a test
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  number INTEGER NOT NULL,  -- 1 for the first attempt
  outcome TEXT NOT NULL,  -- delivered, refused, timeout, unreachable
  status INTEGER,  -- NULL: no response
  latency_us INTEGER NOT NULL,
  response TEXT NOT NULL,  -- the beginning of the response body
  error TEXT NOT NULL,
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_attempt_of_endpoint ON webhook_attempt (client, endpoint_id, id);
CREATE INDEX webhook_attempt_of_event ON webhook_attempt (client, sequence, id);
CREATE INDEX webhook_attempt_by_time ON webhook_attempt (client, at);

-- Which process serves which share of the clients: `shard N`; and the processes that are there: `process TOKEN`.
CREATE TABLE dispatch_lease (
  name TEXT NOT NULL PRIMARY KEY,
  token TEXT NOT NULL,
  until_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO id_block (name, next) VALUES ('webhook_endpoint', 1), ('webhook_attempt', 1);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('webhook_endpoint', 'webhook_endpoint', '10000 10 1'),
  ('webhook_position', 'webhook_position', '10000 10 1'),
  ('pending_webhook', 'pending_webhook', '100000 1000 100 1'),
  ('webhook_attempt', 'webhook_attempt', '1000000 1000 1'),
  ('webhook_attempt', 'webhook_attempt_of_endpoint', '1000000 1000 100 1'),
  ('webhook_attempt', 'webhook_attempt_of_event', '1000000 1000 2 1'),
  ('webhook_attempt', 'webhook_attempt_by_time', '1000000 1000 1');

-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
