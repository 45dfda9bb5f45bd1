-- The id that a caller gives to a record: of its own database or another program, unique in each client and kind of record.

ALTER TABLE company ADD COLUMN external_id text COLLATE "C";
ALTER TABLE contact ADD COLUMN external_id text COLLATE "C";
CREATE UNIQUE INDEX company_external_id ON company (client, external_id) WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX contact_external_id ON contact (client, external_id) WHERE external_id IS NOT NULL;
