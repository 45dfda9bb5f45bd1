-- Stored bytes of each client, counted in the background (clients/stored_bytes.py).

CREATE TABLE client_storage (
  client INTEGER NOT NULL PRIMARY KEY,
  stored_bytes INTEGER NOT NULL,          -- of the last count that was completed
  counted_us INTEGER NOT NULL,            -- when that was; 0: never
  due_us INTEGER NOT NULL,                -- when the next count may begin; while a process counts: when another may take over
  limit_bytes INTEGER NOT NULL,           -- the client's limit at the last count; 0: none
  is_warned INTEGER NOT NULL              -- 1: the last count was above the share of the limit from which the client is warned
) STRICT, WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('client_storage', 'client_storage', '1000 1');

-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
