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
ALTER TABLE custom_field ADD COLUMN created_us bigint NOT NULL DEFAULT 0;
