-- Moves of clients between cells. The home store has a row for each move; the other two tables are those of the stores that a client
-- leaves and comes to, and they are empty while no client moves.

-- The moves that are not done.
CREATE TABLE client_move (
  number INTEGER NOT NULL PRIMARY KEY,    -- the client's
  client_id TEXT NOT NULL,               -- its id when the move began, for people
  source INTEGER NOT NULL,                -- the cells
  target INTEGER NOT NULL,
  state TEXT NOT NULL,                   -- copying, switching, cleaning
  token TEXT NOT NULL,                   -- the process that carries it out; '': none
  began_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,            -- when that process last said that it is there
  position TEXT NOT NULL                 -- JSON: how far it is (routing/moving.py)
) STRICT;

-- A client that leaves this store, or comes to it. While it leaves, triggers of that move note each change of its rows, or refuse it.
-- No column here is called `client`, and no policy limits who sees the rows: triggers read and write them in transactions of any scope.
CREATE TABLE moving_client (
  number INTEGER NOT NULL PRIMARY KEY,
  token TEXT NOT NULL,                   -- as in client_move, so that a process which has lost the move writes nothing more
  state TEXT NOT NULL                    -- noting, frozen, passing (only within a transaction of the move), arriving
) STRICT;

-- The rows of a client that changed while it leaves this store.
CREATE TABLE moving_change (
  sequence INTEGER NOT NULL PRIMARY KEY,
  number INTEGER NOT NULL,                -- as in moving_client
  table_name TEXT NOT NULL,
  row_key TEXT NOT NULL                  -- JSON list: the row's key without the client; bytes in hexadecimal
) STRICT;
CREATE INDEX moving_change_number ON moving_change (number, sequence);
