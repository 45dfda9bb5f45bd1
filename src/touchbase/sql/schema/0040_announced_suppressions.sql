-- The installation's list on blocklists, and lists of changes that are read by a cursor.

-- Entries of the installation's do-not-contact list that an endpoint of the kind blocklist was told of by an event.
CREATE TABLE announced_suppression (
  client INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  suppression_id INTEGER NOT NULL,        -- installation_suppression.id
  kind TEXT NOT NULL COLLATE "C",
  value TEXT NOT NULL COLLATE "C",        -- as a removal needs it
  removed_us INTEGER,                     -- when its removal was announced
  PRIMARY KEY (client, endpoint_id, suppression_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX announced_suppression_address ON announced_suppression (client, kind, value);
-- How far a list of changes was read; NULL: not begun, or no list.
ALTER TABLE fetch_queue ADD COLUMN cursor TEXT;
-- Endpoints without a choice of types get the installation's list too.
UPDATE webhook_endpoint SET version = version + 1,
  types = '["suppression.added","suppression.removed","installation_suppression.added","installation_suppression.removed"]'
WHERE kind = 'blocklist' AND types = '["suppression.added","suppression.removed"]';
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('announced_suppression', 'announced_suppression', '100000 1000 500 1'),
  ('announced_suppression', 'announced_suppression_address', '100000 1000 100 1');
ANALYZE sqlite_schema;
--:both
