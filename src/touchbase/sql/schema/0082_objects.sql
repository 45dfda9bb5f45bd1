-- Where the body of a delivery is in object storage, and the salt of its key; NULL: in delivery_body, or removed.
ALTER TABLE delivery ADD COLUMN object TEXT;
-- The key from which the keys of a client's objects are made.
CREATE TABLE object_key (
  client INTEGER NOT NULL PRIMARY KEY,
  secret TEXT NOT NULL                    -- encrypted
) STRICT, WITHOUT ROWID;
-- Objects that no delivery names: begun ones, which a delivery may name soon, and those that are being removed.
CREATE TABLE object_removal (
  client INTEGER NOT NULL,
  place TEXT COLLATE "C" NOT NULL,        -- its key in the bucket
  is_removing INTEGER NOT NULL,           -- 0: begun. 1: it is removed, and no delivery may name it any more
  created_us INTEGER NOT NULL,
  due_us INTEGER NOT NULL,                -- when it is removed, or removed again
  PRIMARY KEY (client, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX object_removal_due ON object_removal (due_us);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('object_key', 'object_key', '1000 1'),
  ('object_removal', 'object_removal', '10000 1000 1'),
  ('object_removal', 'object_removal_due', '10000 10');
ANALYZE sqlite_schema;
--:both
