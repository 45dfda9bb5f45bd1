-- How many records went from one status to another in a quarter of an hour or in a day (UTC), and how many have a status now
-- (records/sql/status_moves.py).
CREATE TABLE status_move (
  client INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,
  span INTEGER NOT NULL,                  -- time / 15 minutes; 2^40 + time / 1 day; -2147483648: how many records have to_status now
  from_status TEXT COLLATE "C" NOT NULL,  -- '': no status; ' ': the record was created
  to_status TEXT COLLATE "C" NOT NULL,
  n INTEGER NOT NULL,
  first_us INTEGER NOT NULL,              -- no move is earlier, or later than last_us
  last_us INTEGER NOT NULL,
  PRIMARY KEY (client, record_kind, span, from_status, to_status)
) STRICT, WITHOUT ROWID;
INSERT INTO status_move (client, record_kind, span, from_status, to_status, n, first_us, last_us)
SELECT client, record_kind, (at - (at % 900000000 + 900000000) % 900000000) / 900000000, from_status, to_status, count(*), min(at), max(at)
FROM (
  SELECT client, record_kind, at, status AS to_status,
    lag(status, 1, ' ') OVER (PARTITION BY client, record_kind, id ORDER BY at) AS from_status
  FROM (
    SELECT r.client, r.record_kind, r.id, r.created_us AS at, COALESCE((SELECT j.value FROM
--:sqlite
    json_each(r.status_path) j
--:postgres
    jsonb_each_text(CAST(r.status_path AS jsonb)) j
--:both
    WHERE CAST(j.key AS INTEGER) <= r.created_us ORDER BY CAST(j.key AS INTEGER) DESC LIMIT 1), '') AS status
    FROM (
      SELECT client, 1 AS record_kind, id, created_us, status_path FROM contact
      UNION ALL SELECT client, 2, id, created_us, status_path FROM company
    ) AS r
    UNION ALL SELECT r.client, r.record_kind, r.id, CAST(j.key AS INTEGER), COALESCE(j.value, '')
    FROM (
      SELECT client, 1 AS record_kind, id, created_us, status_path FROM contact
      UNION ALL SELECT client, 2, id, created_us, status_path FROM company
    ) AS r CROSS JOIN
--:sqlite
    json_each(r.status_path) j
--:postgres
    jsonb_each_text(CAST(r.status_path AS jsonb)) j
--:both
    WHERE CAST(j.key AS INTEGER) > r.created_us
  ) AS entry
) AS move
WHERE from_status <> to_status
GROUP BY 1, 2, 3, 4, 5;
INSERT INTO status_move (client, record_kind, span, from_status, to_status, n, first_us, last_us)
SELECT client, record_kind, 1099511627776 + (span - (span % 96 + 96) % 96) / 96, from_status, to_status,
  CAST(sum(n) AS INTEGER), min(first_us), max(last_us)
FROM status_move GROUP BY 1, 2, 3, 4, 5;
INSERT INTO status_move (client, record_kind, span, from_status, to_status, n, first_us, last_us)
SELECT client, record_kind, -2147483648, '', status, CAST(sum(n) AS INTEGER), 0, 0 FROM (
  SELECT client, record_kind, to_status AS status, n FROM status_move WHERE span >= 1099511627776
  UNION ALL SELECT client, record_kind, from_status, -n FROM status_move WHERE span >= 1099511627776 AND from_status <> ' '
) AS move
GROUP BY client, record_kind, status HAVING sum(n) <> 0;
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('status_move', 'status_move', '1000000 10000 5000 4 2 1');
ANALYZE sqlite_schema;
--:both
