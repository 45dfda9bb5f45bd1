-- The event log: every change of a client's data, one row a change, stored in the transaction of the change.

CREATE TABLE logged_event (
  client bigint NOT NULL,
  sequence bigint NOT NULL,               -- 1, 2, 3 and so on for each client, in the order of the commits
  type text NOT NULL,
  at bigint NOT NULL,
  record_kind bigint,                     -- 1 contact, 2 company, NULL: about no record
  record_id bigint,
  changed text NOT NULL,                  -- JSON: field -> [before, after]
  cause text NOT NULL,                    -- JSON
  data text NOT NULL,                     -- JSON, for what is no record
  PRIMARY KEY (client, sequence)
);
CREATE INDEX logged_event_of_record ON logged_event (client, record_kind, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX logged_event_merges ON logged_event (client) WHERE type IN ('contact.merged', 'company.merged');

-- Rows that are updated often: room on each page for their new versions.
CREATE TABLE event_counter (
  client bigint NOT NULL PRIMARY KEY,
  next bigint NOT NULL                    -- the sequence of the client's next event
) WITH (fillfactor = 50);

DO $$
DECLARE
  tenant text;
BEGIN
  FOREACH tenant IN ARRAY ARRAY['logged_event', 'event_counter'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant);
    EXECUTE format(
      'CREATE POLICY of_client ON %I USING (strpos(current_setting(''touchbase.clients'', true), '','' || client || '','') > 0 '
      'OR current_setting(''touchbase.clients'', true) IN (''all''))', tenant);
  END LOOP;
END
$$;
