-- Lists go by the time of creation: with several processes ids do not rise with time. The indexes by id alone are replaced.
CREATE INDEX contact_created ON contact (client, created_us, id);
CREATE INDEX company_created ON company (client, created_us, id);
DROP INDEX contact_status;
DROP INDEX contact_company;
DROP INDEX company_status;
CREATE INDEX contact_status ON contact (client, status, created_us, id) WHERE status IS NOT NULL;
CREATE INDEX contact_company ON contact (client, company_id, created_us, id) WHERE company_id IS NOT NULL;
CREATE INDEX company_status ON company (client, status, created_us, id) WHERE status IS NOT NULL;

-- Custom fields are listed in the order in which the record got them.
ALTER TABLE custom_field ADD COLUMN created_us INTEGER NOT NULL DEFAULT 0;

-- How these look in a large store, as in the first migration.
DELETE FROM sqlite_stat1 WHERE idx IN ('contact_status', 'contact_company', 'company_status');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('contact', 'contact_created', '1000000 100000 1 1'),
  ('company', 'company_created', '100000 10000 1 1'),
  ('contact', 'contact_status', '1000000 100000 10000 1 1'),
  ('contact', 'contact_company', '1000000 100000 10 1 1'),
  ('company', 'company_status', '100000 10000 1000 1 1');
