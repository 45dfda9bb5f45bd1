-- A page of a status in the order of the last change: without it a rare status is looked for among all that changed.
CREATE INDEX contact_status_updated ON contact (client, status, updated_us, id) WHERE status IS NOT NULL;
CREATE INDEX company_status_updated ON company (client, status, updated_us, id) WHERE status IS NOT NULL;
