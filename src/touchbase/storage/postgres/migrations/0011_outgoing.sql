-- Outgoing webhooks: endpoints, how far each has been served, what it still misses, and attempts.

CREATE TABLE webhook_endpoint (
  client bigint NOT NULL,
  id bigint NOT NULL,
  url text NOT NULL,
  types text NOT NULL,  -- JSON list of event types; []: all
  fields text NOT NULL,  -- JSON list of the members of the object that are sent; []: all
  filter text NOT NULL,  -- JSON: kind of record -> filter tree; {}: none
  ordering text NOT NULL,  -- per_record or none
  format text NOT NULL,  -- standard or cloudevents
  rate bigint NOT NULL,  -- requests a second; 0: no limit
  description text NOT NULL,
  secrets text NOT NULL,  -- JSON list of [secret, the end of its overlap or null], the present one first; encrypted
  state text NOT NULL,  -- active, paused, disabled
  reason text,  -- why it is paused or disabled
  state_us bigint NOT NULL,  -- since when
  created_us bigint NOT NULL,
  updated_us bigint NOT NULL,
  version bigint NOT NULL,  -- grows with each change that the process that serves it must see
  PRIMARY KEY (client, id)
);

-- Apart from the endpoint, because it changes with each batch of requests.
CREATE TABLE webhook_position (
  client bigint NOT NULL,
  endpoint_id bigint NOT NULL,
  start bigint NOT NULL,  -- events up to this sequence were logged before the endpoint was made
  position bigint NOT NULL,  -- all events up to this sequence are delivered, unless pending_webhook has them
  failing_since_us bigint,  -- the first failure after the last success; NULL: the last request succeeded
  delivered_us bigint,  -- the last success
  PRIMARY KEY (client, endpoint_id)
) WITH (fillfactor = 50);

-- Events up to the position that are not delivered.
CREATE TABLE pending_webhook (
  client bigint NOT NULL,
  endpoint_id bigint NOT NULL,
  sequence bigint NOT NULL,
  record_kind bigint,
  record_id bigint,
  attempts bigint NOT NULL,
  first_us bigint NOT NULL,  -- when it began to wait
  next_us bigint,  -- NULL: all attempts failed, it waits for a replay
  PRIMARY KEY (client, endpoint_id, sequence)
);

CREATE TABLE webhook_attempt (
  client bigint NOT NULL,
  id bigint NOT NULL,
  endpoint_id bigint NOT NULL,
  sequence bigint NOT NULL,  -- of the event; 0: a test
  type text NOT NULL,
  at bigint NOT NULL,
  number bigint NOT NULL,  -- 1 for the first attempt
  outcome text NOT NULL,  -- delivered, refused, timeout, unreachable
  status bigint,  -- NULL: no response
  latency_us bigint NOT NULL,
  response text NOT NULL,  -- the beginning of the response body
  error text NOT NULL,
  PRIMARY KEY (client, id)
);
CREATE INDEX webhook_attempt_of_endpoint ON webhook_attempt (client, endpoint_id, id);
CREATE INDEX webhook_attempt_of_event ON webhook_attempt (client, sequence, id);
CREATE INDEX webhook_attempt_by_time ON webhook_attempt (client, at);

-- Which process serves which share of the clients: `shard N`; and the processes that are there: `process TOKEN`.
CREATE TABLE dispatch_lease (
  name text NOT NULL PRIMARY KEY,
  token text NOT NULL,
  until_us bigint NOT NULL
);

INSERT INTO id_block (name, next) VALUES ('webhook_endpoint', 1), ('webhook_attempt', 1);

DO $$
DECLARE
  tenant text;
BEGIN
  FOREACH tenant IN ARRAY ARRAY['webhook_endpoint', 'webhook_position', 'pending_webhook', 'webhook_attempt'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant);
    EXECUTE format(
      'CREATE POLICY of_client ON %I USING (strpos(current_setting(''touchbase.clients'', true), '','' || client || '','') > 0 '
      'OR current_setting(''touchbase.clients'', true) IN (''all''))', tenant);
  END LOOP;
END
$$;
