-- Parts of reports: what the events of a past day or hour add to a report by campaign, stored when a report has counted them.

-- How often the counted events of an hour have changed; in the transaction of each change. No row: never since this migration.
CREATE TABLE event_hour (
  client bigint NOT NULL,
  hour bigint NOT NULL,                   -- hours since 1970
  version bigint NOT NULL,
  PRIMARY KEY (client, hour)
);

-- A part is valid while its version is the sum of those of its hours.
CREATE TABLE report_part (
  client bigint NOT NULL,
  begin_us bigint NOT NULL,
  end_us bigint NOT NULL,
  version bigint NOT NULL,
  stored_us bigint NOT NULL,
  content bytea NOT NULL,                 -- reports/parts.py
  PRIMARY KEY (client, begin_us, end_us)
);
CREATE INDEX report_part_stored ON report_part (client, stored_us) WHERE end_us - begin_us = 3600000000;

DO $$
DECLARE
  tenant text;
BEGIN
  FOREACH tenant IN ARRAY ARRAY['event_hour', 'report_part'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant);
    EXECUTE format(
      'CREATE POLICY of_client ON %I USING (strpos(current_setting(''touchbase.clients'', true), '','' || client || '','') > 0 '
      'OR current_setting(''touchbase.clients'', true) IN (''all''))', tenant);
  END LOOP;
END
$$;
