-- Parts of reports: what the events of a past day or hour add to a report by campaign, stored when a report has counted them.

-- How often the counted events of an hour have changed; in the transaction of each change. No row: never since this migration.
CREATE TABLE event_hour (
  client INTEGER NOT NULL,
  hour INTEGER NOT NULL,                  -- hours since 1970
  version INTEGER NOT NULL,
  PRIMARY KEY (client, hour)
) STRICT, WITHOUT ROWID;

-- A part is valid while its version is the sum of those of its hours.
CREATE TABLE report_part (
  client INTEGER NOT NULL,
  begin_us INTEGER NOT NULL,
  end_us INTEGER NOT NULL,
  version INTEGER NOT NULL,
  stored_us INTEGER NOT NULL,
  content BLOB NOT NULL,                  -- reports/parts.py
  PRIMARY KEY (client, begin_us, end_us)
) STRICT;
CREATE INDEX report_part_stored ON report_part (client, stored_us) WHERE end_us - begin_us = 3600000000;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('event_hour', 'event_hour', '1000000 1000 1'),
  ('report_part', 'sqlite_autoindex_report_part_1', '100000 100 2 1'),
  ('report_part', 'report_part_stored', '10000 10 2');

-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
