-- The audit log. Its entries have ids in place of personal values; they belong to the installation and outlive the client that they are
-- about, so the client has a column of its own. Each stands in the store of its act.
CREATE TABLE audit_event (
  at_us INTEGER NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  about_client INTEGER,                   -- NULL: no single client
  actor_id TEXT COLLATE "C",              -- of a person or key; NULL: a request without a key
  via TEXT NOT NULL,                      -- console, api, mcp, cli, job
  action TEXT COLLATE "C" NOT NULL,       -- of audit.py
  target_type TEXT,
  target_id TEXT,
  request_id TEXT,
  address TEXT NOT NULL,                  -- the network address; blank: none
  PRIMARY KEY (at_us, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_event_client ON audit_event (about_client, at_us, id);
CREATE INDEX audit_event_actor ON audit_event (actor_id, at_us, id);
CREATE INDEX audit_event_action ON audit_event (action, at_us, id);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('audit_event', 'audit_event', '100000 1 1'),
  ('audit_event', 'audit_event_client', '100000 1000 1 1'),
  ('audit_event', 'audit_event_actor', '100000 1000 1 1'),
  ('audit_event', 'audit_event_action', '100000 3000 1 1');
ANALYZE sqlite_schema;
