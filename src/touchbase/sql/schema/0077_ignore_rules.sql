-- Names, authors and counts of the entries of a connection's settings that ignore webhooks; one without a row has none of these yet.
CREATE TABLE ignore_rule (
  client INTEGER NOT NULL,
  channel TEXT COLLATE "C" NOT NULL,
  tool TEXT COLLATE "C" NOT NULL,
  rule TEXT COLLATE "C" NOT NULL,         -- setting and key, such as events.call.finished
  name TEXT NOT NULL,                     -- blank: none was given
  author TEXT COLLATE "C",                -- user_account.id or api_key.key_id; blank: a request without a key; NULL: unknown
  created_us INTEGER,                     -- NULL: unknown, before this table
  ended_us INTEGER,                       -- when the entry was taken out; a later one of the same key gets its name back
  ignored INTEGER NOT NULL,               -- webhooks
  last_us INTEGER,                        -- receipt of the newest
  PRIMARY KEY (client, channel, tool, rule)
) STRICT, WITHOUT ROWID;
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('ignore_rule', 'ignore_rule', '1000 10 5 2 1');
ANALYZE sqlite_schema;
--:both
