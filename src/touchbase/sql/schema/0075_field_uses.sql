-- How records use custom fields, counted for 16,384 record ids together. No row: never counted, version 0.
CREATE TABLE custom_field_part (
  client INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,
  chunk INTEGER NOT NULL,                 -- record_id >> 14
  version INTEGER NOT NULL,               -- raised when the full-text index takes a changed record of the chunk
  content BLOB,                           -- custom_fields/uses.py; NULL: to be counted
  PRIMARY KEY (client, record_kind, chunk)
) STRICT, WITHOUT ROWID;
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('custom_field_part', 'custom_field_part', '10000 100 50 1');
ANALYZE sqlite_schema;
--:both
