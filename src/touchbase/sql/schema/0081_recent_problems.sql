-- Problems of the last days, for the attention list (attention/plans.py).
--:sqlite
CREATE INDEX delivery_problem_times ON delivery (client, received_us, channel, tool, problems) WHERE problems IS NOT NULL;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('delivery', 'delivery_problem_times', '10000 1000 1 1 1 1');
ANALYZE sqlite_schema;
--:postgres
-- Without the problems: an entry of an index has at most 2,704 bytes.
CREATE INDEX delivery_problem_times ON delivery (client, received_us) WHERE problems IS NOT NULL;
--:both
