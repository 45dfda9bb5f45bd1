-- Do-not-contact lists: addresses that must not be contacted, of each client and of the whole installation.

-- A client's list. An entry is computed from the rows of suppression_cause with its address; without a reason it was removed, and the
-- row remembers when, so that a replay of an old event does not bring it back.
CREATE TABLE suppression (
  client INTEGER NOT NULL,
  kind TEXT NOT NULL,                     -- email, domain, linkedin_url
  value TEXT NOT NULL,                    -- in its normal form; of an erased person a hash with server_secret 'erasure'
  id INTEGER NOT NULL,
  hashed INTEGER NOT NULL,                -- 1: value is a hash
  created_us INTEGER NOT NULL,            -- when it was put on the list, the last time
  updated_us INTEGER NOT NULL,
  removed_us INTEGER NOT NULL,            -- causes up to this time have ended; 0: never removed
  reason TEXT,                            -- NULL: it is not on the list
  source TEXT,                            -- event, import, api, person
  note TEXT NOT NULL,
  since_us INTEGER,
  until_us INTEGER,                       -- NULL: without end
  tool TEXT,                              -- the tool and the delivery of the event that it shows
  delivery_id INTEGER,
  PRIMARY KEY (client, kind, value)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX suppression_id ON suppression (client, id);
CREATE INDEX suppression_created ON suppression (client, created_us, id) WHERE reason IS NOT NULL;
CREATE INDEX suppression_kind ON suppression (client, kind, created_us, id) WHERE reason IS NOT NULL;
CREATE INDEX suppression_reason ON suppression (client, reason, created_us, id) WHERE reason IS NOT NULL;
CREATE INDEX suppression_hashed ON suppression (client) WHERE hashed = 1;

-- Why an address is on a client's list: one row for each event about it, and one, with the key '', for the last request.
CREATE TABLE suppression_cause (
  client INTEGER NOT NULL,
  kind TEXT NOT NULL,
  value TEXT NOT NULL,                    -- as in suppression
  key TEXT NOT NULL,                      -- identifies the event
  reason TEXT NOT NULL,                   -- resubscribed: ends earlier unsubscriptions
  source TEXT NOT NULL,
  note TEXT NOT NULL,
  since_us INTEGER NOT NULL,
  until_us INTEGER,
  at_us INTEGER NOT NULL,                 -- the effective time of the event, the time of the request
  tool TEXT,
  delivery_id INTEGER,
  PRIMARY KEY (client, kind, value, key)
) STRICT, WITHOUT ROWID;

-- The installation's list, which applies to all clients. It belongs to none of them.
CREATE TABLE installation_suppression (
  kind TEXT NOT NULL,
  value TEXT NOT NULL,
  id INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,
  reason TEXT NOT NULL,
  source TEXT NOT NULL,
  note TEXT NOT NULL,
  since_us INTEGER NOT NULL,
  until_us INTEGER,
  PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX installation_suppression_id ON installation_suppression (id);
CREATE INDEX installation_suppression_created ON installation_suppression (created_us, id);

INSERT INTO id_block (name, next) VALUES ('suppression', 1);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('suppression', 'suppression', '1000000 100000 30000 1'),
  ('suppression', 'suppression_id', '1000000 100000 1'),
  ('suppression', 'suppression_created', '1000000 100000 2 1'),
  ('suppression', 'suppression_kind', '1000000 100000 30000 2 1'),
  ('suppression', 'suppression_reason', '1000000 100000 10000 2 1'),
  ('suppression', 'suppression_hashed', '1000 100'),
  ('suppression_cause', 'suppression_cause', '1000000 100000 30000 2 1'),
  ('installation_suppression', 'installation_suppression', '100000 30000 1'),
  ('installation_suppression', 'installation_suppression_id', '100000 1'),
  ('installation_suppression', 'installation_suppression_created', '100000 2 1');
ANALYZE sqlite_schema;
