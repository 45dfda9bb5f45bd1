-- Deliveries that a saved mapping read again: its revert withdraws what they brought.
CREATE TABLE mapping_delivery (
  client INTEGER NOT NULL,
  job_id INTEGER NOT NULL,                -- job.id of the saved mapping
  id INTEGER NOT NULL,                    -- delivery.id
  had TEXT NOT NULL,                      -- digests of the keys of events that it had before, each of 16 characters
  PRIMARY KEY (client, job_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX mapping_of_delivery ON mapping_delivery (client, id);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('mapping_delivery', 'mapping_delivery', '100000 10000 1000 1'),
  ('mapping_delivery', 'mapping_of_delivery', '100000 10000 1');
ANALYZE sqlite_schema;
--:both
