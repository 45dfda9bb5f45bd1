-- Cells: the directory of an installation whose clients live in several stores. Only the home store has rows here.

-- A store that clients live in. The home store is the cell 0, and has no row.
CREATE TABLE cell (
  number INTEGER NOT NULL PRIMARY KEY,    -- its ids begin with it (cells/models.py); never used again
  name TEXT NOT NULL UNIQUE,
  address TEXT NOT NULL,                  -- of the store, encrypted; '': the cell was removed
  state TEXT NOT NULL,                    -- open, draining, removed
  created_us INTEGER NOT NULL,
  revision INTEGER NOT NULL               -- of the directory: id_block 'cell_revision' when the row was written last
) STRICT;

-- Which cell the client of a client_id lives in, also of a former one. Clients that were in the home store before there were cells
-- have no row.
CREATE TABLE client_place (
  client_id TEXT NOT NULL PRIMARY KEY,
  number INTEGER,                         -- the client's; NULL: it is being created
  cell INTEGER,                           -- NULL: the client is gone, and the id is free
  revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX client_place_revision ON client_place (revision);
CREATE INDEX client_place_number ON client_place (number);

-- Which client an API key belongs to. Keys of no client are in the home store.
CREATE TABLE key_place (
  key_id TEXT NOT NULL PRIMARY KEY,
  number INTEGER NOT NULL,
  revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX key_place_revision ON key_place (revision);
CREATE INDEX key_place_number ON key_place (number);

-- 'installation_list' counts the changes of the installation's do-not-contact list, of which each cell has a copy.
INSERT INTO id_block (name, next) VALUES ('cell_revision', 1), ('installation_list', 1);
