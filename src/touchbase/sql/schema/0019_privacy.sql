-- Bodies of refused webhooks, erasures in two steps, handles of clients, sessions of the console that ended, stored bytes of clients.

-- Bodies of webhooks that were refused because they did not prove their sender, encrypted, for some days.
CREATE TABLE refused_body (
  client INTEGER NOT NULL,
  digest TEXT COLLATE "C" NOT NULL,       -- of channel, query and body: the same webhook is stored once
  channel TEXT NOT NULL,
  tool TEXT,                              -- the tool that it looks like; NULL: none
  first_us INTEGER NOT NULL,
  received_us INTEGER NOT NULL,           -- the last call
  calls INTEGER NOT NULL,
  size INTEGER NOT NULL,                  -- bytes of the body
  content TEXT NOT NULL,                  -- encrypted headers, query and body; empty once it was replayed
  replayed_us INTEGER,
  replayed_by TEXT,                       -- the API key, or the command line
  delivery_id INTEGER,                    -- the delivery that the replay made
  PRIMARY KEY (client, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX refused_body_received ON refused_body (client, received_us, digest);
ALTER TABLE refusal ADD COLUMN body TEXT;  -- refused_body.digest; NULL: its body was not stored

ALTER TABLE erasure ADD COLUMN searched_us INTEGER;  -- when the search was complete; done_us: when the store's files were cleaned after it
UPDATE erasure SET searched_us = done_us;

ALTER TABLE client ADD COLUMN handle TEXT;  -- names the client in addresses of the console; it proves nothing, unlike client_id
UPDATE client SET handle = letter() || letter() || letter() || letter() || letter() || letter() || letter() || letter();
CREATE UNIQUE INDEX client_handle ON client (handle) WHERE handle IS NOT NULL;

CREATE TABLE ended_session (
  digest BLOB NOT NULL PRIMARY KEY,       -- SHA-256 of the session's random part
  until_us INTEGER NOT NULL               -- when it would have ended by itself
) STRICT, WITHOUT ROWID;

-- Stored bytes of each client, counted in the background (clients/stored_bytes.py).
CREATE TABLE client_storage (
  client INTEGER NOT NULL PRIMARY KEY,
  stored_bytes INTEGER NOT NULL,          -- of the last count that was completed
  counted_us INTEGER NOT NULL,            -- when that was; 0: never
  due_us INTEGER NOT NULL,                -- when the next count may begin; while a process counts: when another may take over
  limit_bytes INTEGER NOT NULL,           -- the client's limit at the last count; 0: none
  is_warned INTEGER NOT NULL              -- 1: the last count was above the share of the limit from which the client is warned
) STRICT, WITHOUT ROWID;

--:postgres
-- Rows that are updated often: room on each page for their new versions.
ALTER TABLE client_storage SET (fillfactor = 50);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('refused_body', 'refused_body', '10000 100 1'),
  ('refused_body', 'refused_body_received', '10000 100 1 1'),
  ('client', 'client_handle', '10000 1'),
  ('ended_session', 'ended_session', '1000 1'),
  ('client_storage', 'client_storage', '1000 1');
-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
--:both
