-- Refused webhook calls: what came and why it was refused, without its body. Client 0 stands for addresses that name no client.
CREATE TABLE refusal (
  client INTEGER NOT NULL,
  received_us INTEGER NOT NULL,
  id INTEGER NOT NULL,
  client_id TEXT NOT NULL,
  channel TEXT NOT NULL,
  tool TEXT,
  cause TEXT NOT NULL,
  size INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  headers TEXT NOT NULL,
  PRIMARY KEY (client, received_us, id)
) STRICT, WITHOUT ROWID;
-- A list over all clients: newest first.
CREATE INDEX refusal_newest ON refusal (received_us, id);
INSERT INTO id_block (name, next) VALUES ('refusal', 1);

-- Since when a connection has secrets: what came unverified before may be read as its tool's, what came later may not.
ALTER TABLE connection ADD COLUMN guarded_us INTEGER;
UPDATE connection SET guarded_us = updated_us WHERE secrets NOT IN ('', '[]');
