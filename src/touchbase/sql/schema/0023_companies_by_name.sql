-- Companies of which only the name is known: their domain is blank, and any number of a client's companies may have that.
DROP INDEX company_domain;
CREATE UNIQUE INDEX company_domain ON company (client, domain, (CASE WHEN domain = '' THEN id ELSE 0 END));
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('company', 'company_domain', '100000 10000 1 1');
-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
--:both
