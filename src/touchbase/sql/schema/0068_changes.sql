-- Changes of many records, merges and deletions, each with the place in the client's log from which on its events are. The log has the values.
CREATE TABLE change (
  client INTEGER NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL,                     -- bulk, import, merge, delete, revert
  at_us INTEGER NOT NULL,
  until_us INTEGER NOT NULL,              -- when its last events were written; of a job: when it began
  actor_id TEXT COLLATE "C" NOT NULL,     -- user or key; '': a request without a key
  request_id TEXT COLLATE "C" NOT NULL,   -- in the causes of its events
  job_id INTEGER,                         -- NULL: a request made it
  reverts TEXT COLLATE "C",               -- change.id, of a revert
  records INTEGER NOT NULL,               -- of a request; a job has counts of its own
  first_event INTEGER NOT NULL,           -- no earlier logged_event.sequence is of it
  state TEXT NOT NULL,                    -- open, reverting, reverted, partly
  revert_job INTEGER,                     -- job.id of its last revert
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX change_request ON change (client, request_id);
CREATE INDEX change_of_client ON change (client, at_us);
CREATE INDEX change_time ON change (at_us);
CREATE INDEX change_revert ON change (client, reverts) WHERE reverts IS NOT NULL;
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('change', 'change', '100000 1000 1'),
  ('change', 'change_request', '100000 1000 1'),
  ('change', 'change_of_client', '100000 1000 1'),
  ('change', 'change_time', '100000 1'),
  ('change', 'change_revert', '1000 100 1');
ANALYZE sqlite_schema;
--:both
