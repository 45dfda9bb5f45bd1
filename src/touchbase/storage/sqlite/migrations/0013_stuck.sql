-- The same three indexes in other words. For a list of three, SQLite makes a table and puts the three into it, for each row
-- and each index of this kind: two thirds of what marking a delivery cost. For words with OR it compares.
DROP INDEX delivery_stuck;
DROP INDEX delivery_shape;
DROP INDEX delivery_oldest;
CREATE INDEX delivery_stuck ON delivery (client, state, id) WHERE state = 'parked' OR state = 'unrecognised' OR state = 'failed';
CREATE INDEX delivery_shape ON delivery (client, state, channel, tool, shape, received_us)
  WHERE state = 'parked' OR state = 'unrecognised' OR state = 'failed';
CREATE INDEX delivery_oldest ON delivery (state, received_us) WHERE state = 'parked' OR state = 'unrecognised' OR state = 'failed';

-- How it looks in a large store, as in the first migration: the figures went with the index.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('delivery', 'delivery_stuck', '10000 1000 300 1');
