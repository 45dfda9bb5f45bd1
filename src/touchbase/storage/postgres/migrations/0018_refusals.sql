-- Refused webhook calls: what came and why it was refused, without its body. Client 0 stands for addresses that name no client.
CREATE TABLE refusal (
  client bigint NOT NULL,
  received_us bigint NOT NULL,
  id bigint NOT NULL,
  client_id text NOT NULL,
  channel text NOT NULL,
  tool text,
  cause text NOT NULL,
  size bigint NOT NULL,
  calls bigint NOT NULL,
  headers text NOT NULL,
  PRIMARY KEY (client, received_us, id)
);
-- A list over all clients: newest first.
CREATE INDEX refusal_newest ON refusal (received_us, id);
INSERT INTO id_block (name, next) VALUES ('refusal', 1);

-- The second wall, as before every table with a column `client` (0010_row_level_security).
ALTER TABLE refusal ENABLE ROW LEVEL SECURITY;
ALTER TABLE refusal FORCE ROW LEVEL SECURITY;
CREATE POLICY of_client ON refusal USING (strpos(current_setting('touchbase.clients', true), ',' || client || ',') > 0
  OR current_setting('touchbase.clients', true) IN ('all'));

-- Since when a connection has secrets: what came unverified before may be read as its tool's, what came later may not.
ALTER TABLE connection ADD COLUMN guarded_us bigint;
UPDATE connection SET guarded_us = updated_us WHERE secrets NOT IN ('', '[]');
