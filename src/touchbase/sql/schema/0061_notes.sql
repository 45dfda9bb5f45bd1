-- Notes of the team on contacts and companies. The entry in the history says whose note it is, so that merges and their undo move both.
CREATE TABLE note (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  event_key TEXT COLLATE "C" NOT NULL,    -- event.key
  author TEXT NOT NULL,                   -- JSON: key or person, request
  text TEXT NOT NULL,
  mentions TEXT NOT NULL,                 -- JSON: ids of user_account
  created_us INTEGER NOT NULL,            -- event.occurred_us
  updated_us INTEGER NOT NULL,
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX note_event ON note (client, event_key);
INSERT INTO id_block (name, next) VALUES ('note', 1);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('note', 'note', '1000000 10000 1'),
  ('note', 'note_event', '1000000 10000 1');
ANALYZE sqlite_schema;
--:both
