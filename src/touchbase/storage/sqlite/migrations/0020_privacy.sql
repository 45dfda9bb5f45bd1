-- Erasures in two steps, handles of clients, and sessions of the console that ended.

ALTER TABLE erasure ADD COLUMN searched_us INTEGER;  -- when the search was complete; done_us: when the store's files were cleaned after it
UPDATE erasure SET searched_us = done_us;

ALTER TABLE client ADD COLUMN handle TEXT;  -- names the client in addresses of the console; it proves nothing, unlike client_id
UPDATE client SET handle =
  substr('abcdefghijklmnopqrstuvwxyz234567', (random() & 31) + 1, 1) || substr('abcdefghijklmnopqrstuvwxyz234567', (random() & 31) + 1, 1) ||
  substr('abcdefghijklmnopqrstuvwxyz234567', (random() & 31) + 1, 1) || substr('abcdefghijklmnopqrstuvwxyz234567', (random() & 31) + 1, 1) ||
  substr('abcdefghijklmnopqrstuvwxyz234567', (random() & 31) + 1, 1) || substr('abcdefghijklmnopqrstuvwxyz234567', (random() & 31) + 1, 1) ||
  substr('abcdefghijklmnopqrstuvwxyz234567', (random() & 31) + 1, 1) || substr('abcdefghijklmnopqrstuvwxyz234567', (random() & 31) + 1, 1);
CREATE UNIQUE INDEX client_handle ON client (handle) WHERE handle IS NOT NULL;

CREATE TABLE ended_session (
  digest BLOB NOT NULL PRIMARY KEY,       -- SHA-256 of the session's random part
  until_us INTEGER NOT NULL               -- when it would have ended by itself
) STRICT, WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('client', 'client_handle', '10000 1'),
  ('ended_session', 'ended_session', '1000 1');

ANALYZE sqlite_schema;
