-- Whether a fact is known to any record of the client: its key, and where it has no id of the tool, its time.
CREATE INDEX event_key ON event (client, key, occurred_us);

-- Contacts whose CRM names a company that is not known yet, with the stamp of the newest event that says so.
CREATE TABLE company_claim (
  client bigint NOT NULL,
  tool text NOT NULL,
  object_type text NOT NULL,
  object_id text NOT NULL,
  record_kind bigint NOT NULL,
  record_id bigint NOT NULL,
  stamped_us bigint NOT NULL,
  stamp_key text NOT NULL,
  PRIMARY KEY (client, tool, object_type, object_id, record_kind, record_id)
);
CREATE INDEX company_claim_record ON company_claim (client, record_kind, record_id);

-- The second wall, as before every table with a column `client` (0010_row_level_security).
ALTER TABLE company_claim ENABLE ROW LEVEL SECURITY;
ALTER TABLE company_claim FORCE ROW LEVEL SECURITY;
CREATE POLICY of_client ON company_claim USING (strpos(current_setting('touchbase.clients', true), ',' || client || ',') > 0
  OR current_setting('touchbase.clients', true) IN ('all'));
