-- Secrets that this store has made for itself, by name. Beside the clients' data and of none of them.
CREATE TABLE server_secret (
  name TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT;

-- Each erasure that was asked for: how far the inbox has been searched, and what was removed. Nothing of the person.
CREATE TABLE erasure (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  asked_us INTEGER NOT NULL,
  done_us INTEGER,
  swept_to INTEGER NOT NULL,
  sweep_until INTEGER NOT NULL,
  removed TEXT NOT NULL,
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX erasure_open ON erasure (client, id) WHERE done_us IS NULL;
INSERT INTO id_block (name, next) VALUES ('erasure', 1);

-- Keyed hashes of the identities that were erased. derived 1: an object that was only seen together with one of them.
CREATE TABLE erased (
  client INTEGER NOT NULL,
  digest BLOB NOT NULL,
  erasure INTEGER NOT NULL,
  derived INTEGER NOT NULL,
  erased_us INTEGER NOT NULL,
  PRIMARY KEY (client, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX erased_together ON erased (client, erasure);

-- Why a delivery has no body any more ('erased', 'retention'), and since when.
ALTER TABLE delivery ADD COLUMN body_gone TEXT;
ALTER TABLE delivery ADD COLUMN body_gone_us INTEGER;
CREATE INDEX delivery_with_body ON delivery (client, applied_us, id) WHERE applied_us IS NOT NULL AND body_gone IS NULL;

-- How these look in a large store, as in the first migration.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('erased', 'erased', '100000 10000 1'),
  ('erased', 'erased_together', '100000 10000 3 1'),
  ('erasure', 'erasure', '30000 3000 1'),
  ('delivery', 'delivery_with_body', '3000000 300000 2 1');
