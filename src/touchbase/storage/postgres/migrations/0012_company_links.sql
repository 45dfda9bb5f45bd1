-- Companies of contacts by the domains of their e-mail addresses.

-- How far the contacts of a client with this setting are linked. A row that is updated often: room on each page for its new versions.
CREATE TABLE company_linking (
  client bigint NOT NULL PRIMARY KEY,
  mode text NOT NULL,  -- existing or create: the setting when job_id was created
  position bigint NOT NULL,  -- the log of events was followed up to this sequence
  job_id bigint NOT NULL  -- the job that links the contacts from before
) WITH (fillfactor = 50);

-- Contacts that would get a company with this domain if there were one.
CREATE TABLE pending_domain_link (
  client bigint NOT NULL,
  record_kind bigint NOT NULL,  -- 1 contact
  record_id bigint NOT NULL,
  domain text NOT NULL,
  PRIMARY KEY (client, record_kind, record_id)
);
CREATE INDEX pending_domain_link_domain ON pending_domain_link (client, domain, record_id);

-- Clients with the setting, which is a member of the text of their settings.
CREATE INDEX client_linking ON client (id)
  WHERE settings <> replace(replace(settings, '"link_companies_by_email":"existing"', ''), '"link_companies_by_email":"create"', '');

DO $$
DECLARE
  tenant text;
BEGIN
  FOREACH tenant IN ARRAY ARRAY['company_linking', 'pending_domain_link'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant);
    EXECUTE format(
      'CREATE POLICY of_client ON %I USING (strpos(current_setting(''touchbase.clients'', true), '','' || client || '','') > 0 '
      'OR current_setting(''touchbase.clients'', true) IN (''all''))', tenant);
  END LOOP;
END
$$;
