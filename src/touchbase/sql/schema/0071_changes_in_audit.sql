-- The change of many that an act made, so that a reader of the audit log finds it. The entry of an import is older than its change.
ALTER TABLE audit_event ADD COLUMN change_id TEXT COLLATE "C";  -- NULL: none
CREATE INDEX audit_event_import ON audit_event (about_client, target_id) WHERE action = 'import.started';
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('audit_event', 'audit_event_import', '1000 100 1');
ANALYZE sqlite_schema;
--:both
