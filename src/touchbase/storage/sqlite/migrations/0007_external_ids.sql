-- The id that a caller gives to a record: of its own database or another program, unique in each client and kind of record.

ALTER TABLE company ADD COLUMN external_id TEXT;
ALTER TABLE contact ADD COLUMN external_id TEXT;
CREATE UNIQUE INDEX company_external_id ON company (client, external_id) WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX contact_external_id ON contact (client, external_id) WHERE external_id IS NOT NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('company', 'company_external_id', '100000 10000 1'),
  ('contact', 'contact_external_id', '500000 50000 1');

-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
