-- The event log: every change of a client's data, one row a change, stored in the transaction of the change.

CREATE TABLE logged_event (
  client INTEGER NOT NULL,
  sequence INTEGER NOT NULL,              -- 1, 2, 3 and so on for each client, in the order of the commits
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  record_kind INTEGER,                    -- 1 contact, 2 company, NULL: about no record
  record_id INTEGER,
  changed TEXT NOT NULL,                  -- JSON: field -> [before, after]
  cause TEXT NOT NULL,                    -- JSON
  data TEXT NOT NULL,                     -- JSON, for what is no record
  PRIMARY KEY (client, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX logged_event_of_record ON logged_event (client, record_kind, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX logged_event_merges ON logged_event (client) WHERE type IN ('contact.merged', 'company.merged');

CREATE TABLE event_counter (
  client INTEGER NOT NULL PRIMARY KEY,
  next INTEGER NOT NULL                   -- the sequence of the client's next event
) STRICT, WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('logged_event', 'logged_event', '1000000 100000 1'),
  ('logged_event', 'logged_event_of_record', '1000000 100000 50000 5 1'),
  ('logged_event', 'logged_event_merges', '1000 100 1'),
  ('event_counter', 'event_counter', '1000 1');

-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
