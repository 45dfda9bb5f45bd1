-- Who writes an answer now: looked up every few seconds for each open console.
CREATE INDEX answer_draft_updated ON answer_draft (updated_us);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('answer_draft', 'answer_draft_updated', '1000 1');
ANALYZE sqlite_schema;
--:both
