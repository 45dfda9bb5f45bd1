-- Bodies of webhooks that were refused because they did not prove their sender, encrypted, for some days.

CREATE TABLE refused_body (
  client INTEGER NOT NULL,
  digest TEXT NOT NULL,                   -- of channel, query and body: the same webhook is stored once
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

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('refused_body', 'refused_body', '10000 100 1'),
  ('refused_body', 'refused_body_received', '10000 100 1 1');

-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
