-- Files of a client's change events in object storage: each has the events from one sequence to another (event_archive/).
CREATE TABLE event_file (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,                    -- the sequence of its first event
  last_sequence INTEGER NOT NULL,
  from_us INTEGER NOT NULL,               -- no event in it is earlier, or later than until_us
  until_us INTEGER NOT NULL,
  events INTEGER NOT NULL,                -- without those of erased people
  size INTEGER NOT NULL,                  -- bytes of the file
  digest TEXT NOT NULL,                   -- SHA-256 of the file
  merges TEXT NOT NULL,                   -- JSON: of each merge in it, the kind of record, the survivor and the others
  object TEXT,                            -- its key in the bucket and the salt of its key; NULL: it is lost
  archived_us INTEGER NOT NULL,
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
-- What has to leave the files of a client: the events of a record, or erased people in the texts of other events.
CREATE TABLE event_file_erasure (
  client INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,           -- 0: texts
  record_id INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  PRIMARY KEY (client, record_kind, record_id, created_us)
) STRICT, WITHOUT ROWID;
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('event_file', 'event_file', '10000 12 1'),
  ('event_file_erasure', 'event_file_erasure', '1000 10 5 1 1');
ANALYZE sqlite_schema;
--:both
