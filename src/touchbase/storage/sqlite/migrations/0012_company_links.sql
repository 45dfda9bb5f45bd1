-- Companies of contacts by the domains of their e-mail addresses.

-- How far the contacts of a client with this setting are linked.
CREATE TABLE company_linking (
  client INTEGER NOT NULL PRIMARY KEY,
  mode TEXT NOT NULL,  -- existing or create: the setting when job_id was created
  position INTEGER NOT NULL,  -- the log of events was followed up to this sequence
  job_id INTEGER NOT NULL  -- the job that links the contacts from before
) STRICT, WITHOUT ROWID;

-- Contacts that would get a company with this domain if there were one.
CREATE TABLE pending_domain_link (
  client INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,  -- 1 contact
  record_id INTEGER NOT NULL,
  domain TEXT NOT NULL,
  PRIMARY KEY (client, record_kind, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_domain_link_domain ON pending_domain_link (client, domain, record_id);

-- Clients with the setting, which is a member of the text of their settings.
CREATE INDEX client_linking ON client (id)
  WHERE settings <> replace(replace(settings, '"link_companies_by_email":"existing"', ''), '"link_companies_by_email":"create"', '');

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('company_linking', 'company_linking', '1000 1'),
  ('pending_domain_link', 'pending_domain_link', '1000000 10000 10000 1'),
  ('pending_domain_link', 'pending_domain_link_domain', '1000000 10000 3 1');

-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
