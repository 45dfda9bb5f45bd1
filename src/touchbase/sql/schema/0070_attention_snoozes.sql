-- Attention items that the team has put off. Client 0: items of no client.
CREATE TABLE attention_snooze (
  client INTEGER NOT NULL,
  item TEXT COLLATE "C" NOT NULL,         -- attention/plans.py, Item.key
  severity TEXT NOT NULL,                 -- of the item when it was snoozed, as is the next
  last_us INTEGER,                        -- when it had happened last; NULL: unknown
  until_us INTEGER NOT NULL,
  PRIMARY KEY (client, item)
) STRICT, WITHOUT ROWID;
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('attention_snooze', 'attention_snooze', '1000 10 1');
ANALYZE sqlite_schema;
--:both
