-- Erasures in two steps, handles of clients, and sessions of the console that ended.

ALTER TABLE erasure ADD COLUMN searched_us bigint;  -- when the search was complete; done_us: when the store's files were cleaned after it
UPDATE erasure SET searched_us = done_us;

ALTER TABLE client ADD COLUMN handle text;  -- names the client in addresses of the console; it proves nothing, unlike client_id
UPDATE client SET handle =
  substr('abcdefghijklmnopqrstuvwxyz234567', floor(random() * 32)::int + 1, 1) || substr('abcdefghijklmnopqrstuvwxyz234567', floor(random() * 32)::int + 1, 1) ||
  substr('abcdefghijklmnopqrstuvwxyz234567', floor(random() * 32)::int + 1, 1) || substr('abcdefghijklmnopqrstuvwxyz234567', floor(random() * 32)::int + 1, 1) ||
  substr('abcdefghijklmnopqrstuvwxyz234567', floor(random() * 32)::int + 1, 1) || substr('abcdefghijklmnopqrstuvwxyz234567', floor(random() * 32)::int + 1, 1) ||
  substr('abcdefghijklmnopqrstuvwxyz234567', floor(random() * 32)::int + 1, 1) || substr('abcdefghijklmnopqrstuvwxyz234567', floor(random() * 32)::int + 1, 1);
CREATE UNIQUE INDEX client_handle ON client (handle) WHERE handle IS NOT NULL;

CREATE TABLE ended_session (
  digest bytea NOT NULL PRIMARY KEY,      -- SHA-256 of the session's random part
  until_us bigint NOT NULL                -- when it would have ended by itself
);
