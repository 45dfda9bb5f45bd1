-- Whether a fact is known to any record of the client: its key, and where it has no id of the tool, its time.
CREATE INDEX event_key ON event (client, key, occurred_us);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('event', 'event_key', '10000000 1000000 2 1 1 1');

-- Contacts whose CRM names a company that is not known yet, with the stamp of the newest event that says so.
CREATE TABLE company_claim (
  client INTEGER NOT NULL,
  tool TEXT NOT NULL,
  object_type TEXT NOT NULL,
  object_id TEXT NOT NULL,
  record_kind INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  stamped_us INTEGER NOT NULL,
  stamp_key TEXT NOT NULL,
  PRIMARY KEY (client, tool, object_type, object_id, record_kind, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX company_claim_record ON company_claim (client, record_kind, record_id);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('company_claim', 'company_claim', '100000 10000 5000 5000 10 10 1'),
  ('company_claim', 'company_claim_record', '100000 10000 10000 2 1 1 1');
