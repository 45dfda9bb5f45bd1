-- Pairs of records that a person said are not the same: they are no longer listed as duplicates.
CREATE TABLE distinct_pair (
  client INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,
  first_id INTEGER NOT NULL,              -- the smaller id
  second_id INTEGER NOT NULL,
  author TEXT COLLATE "C" NOT NULL,       -- user_account.id or api_key.key_id; blank: a request without a key
  created_us INTEGER NOT NULL,
  PRIMARY KEY (client, record_kind, first_id, second_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX distinct_pair_second ON distinct_pair (client, record_kind, second_id);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('distinct_pair', 'distinct_pair', '10000 100 50 2 1'),
  ('distinct_pair', 'distinct_pair_second', '10000 100 50 2');
ANALYZE sqlite_schema;
--:both
