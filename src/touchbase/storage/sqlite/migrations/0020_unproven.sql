-- Bodies of calls that nobody understood and nothing verified: found by age, and their size added up, without the table.
CREATE INDEX delivery_unproven ON delivery (client, id, size, received_us)
  WHERE state = 'unrecognised' AND body_gone IS NULL AND (verified IS NULL OR verified = 0);

-- How it looks in a large store, as in the first migration.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('delivery', 'delivery_unproven', '10000 1000 1 1 1');
