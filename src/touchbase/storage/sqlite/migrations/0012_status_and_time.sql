-- A page of a status in the order of the last change: without it a rare status is looked for among all that changed.
CREATE INDEX contact_status_updated ON contact (client, status, updated_us, id) WHERE status IS NOT NULL;
CREATE INDEX company_status_updated ON company (client, status, updated_us, id) WHERE status IS NOT NULL;

-- How these look in a large store, as in the first migration.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('contact', 'contact_status_updated', '1000000 100000 10000 2 1'),
  ('company', 'company_status_updated', '100000 10000 1000 2 1');
