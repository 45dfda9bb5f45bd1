-- Calls of connections by hour, and their silences: times without a call from a connection that usually calls.

-- How many webhooks of a connection's tool were processed, by the hour of their receipt; of the last weeks.
CREATE TABLE connection_calls (
  client INTEGER NOT NULL,
  channel TEXT NOT NULL,
  tool TEXT NOT NULL,
  hour INTEGER NOT NULL,                  -- hours since 1970
  calls INTEGER NOT NULL,
  PRIMARY KEY (client, channel, tool, hour)
) STRICT, WITHOUT ROWID;

CREATE TABLE connection_rhythm (
  client INTEGER NOT NULL,
  channel TEXT NOT NULL,
  tool TEXT NOT NULL,
  last_us INTEGER NOT NULL,               -- the last call
  due_us INTEGER,                         -- when it may be silent, and is judged; NULL: it is silent
  PRIMARY KEY (client, channel, tool)
) STRICT, WITHOUT ROWID;

CREATE TABLE connection_silence (
  client INTEGER NOT NULL,
  channel TEXT NOT NULL,
  tool TEXT NOT NULL,
  noticed_us INTEGER NOT NULL,
  since_us INTEGER NOT NULL,              -- the last call before it
  ended_us INTEGER,                       -- NULL: it lasts
  week INTEGER NOT NULL,                  -- calls of the seven days before
  usual_interval_s INTEGER,               -- between two calls at the hour at which it was noticed; NULL: less than one call is usual
  PRIMARY KEY (client, channel, tool, noticed_us)
) STRICT, WITHOUT ROWID;
CREATE INDEX connection_silence_open ON connection_silence (client, channel, tool) WHERE ended_us IS NULL;

-- One row: the last check for silences of any process.
CREATE TABLE silence_check (
  one INTEGER NOT NULL PRIMARY KEY,       -- 1
  checked_us INTEGER NOT NULL,
  since_us INTEGER NOT NULL               -- since when the checks have no gap
) STRICT;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('connection_calls', 'connection_calls', '1000000 100000 100000 1000 1'),
  ('connection_rhythm', 'connection_rhythm', '1000 4 4 1'),
  ('connection_silence', 'connection_silence', '10000 40 40 10 1'),
  ('connection_silence', 'connection_silence_open', '100 2 2 1');

-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
