-- Endpoints of all clients: rows of client 0, of which each client has a copy.
ALTER TABLE webhook_endpoint ADD COLUMN shared_id INTEGER;  -- the endpoint of all clients that this is a copy of
ALTER TABLE webhook_endpoint ADD COLUMN shared_version INTEGER NOT NULL DEFAULT 0;  -- the version of it that was copied
CREATE UNIQUE INDEX webhook_endpoint_shared ON webhook_endpoint (shared_id, client) WHERE shared_id IS NOT NULL;
-- The attempts of all clients, newest first.
DROP INDEX webhook_attempt_by_time;
CREATE INDEX webhook_attempt_by_time ON webhook_attempt (at, client, id);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('webhook_endpoint', 'webhook_endpoint_shared', '1000 100 1'), ('webhook_attempt', 'webhook_attempt_by_time', '1000000 2 1 1');
ANALYZE sqlite_schema;
--:both
