-- Reports: the campaign of an event by its id, the statuses that a record has had, and read-only views for SQL.

ALTER TABLE event ADD COLUMN campaign_id TEXT;     -- the campaign's id, where the tool sends one; `campaign` is its name, else its id

-- Mails, replies, bounces, unsubscriptions and complaints of contacts by time, with all that reports count by.
CREATE INDEX event_report ON event (client, effect, occurred_us, record_id, tool, campaign_id, campaign)
  WHERE record_kind = 1 AND (effect = 'sent' OR effect = 'reply' OR effect = 'bounce' OR effect = 'unsubscribe' OR effect = 'complaint');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('event', 'event_report', '5000000 500000 100000 2 1 1 1 1 1 1');

-- JSON: each status that the record has had, by the time at which it got it; computed from its events, as `status` is.
-- Of a record from before this migration only the last two.
ALTER TABLE contact ADD COLUMN status_path TEXT;
ALTER TABLE company ADD COLUMN status_path TEXT;
UPDATE contact SET status_path = CASE
  WHEN status_changed_us IS NULL THEN json_object(CAST(created_us AS TEXT), status)
  WHEN previous_status IS NULL OR status_changed_us <= created_us THEN json_object(CAST(status_changed_us AS TEXT), status)
  ELSE json_object(CAST(created_us AS TEXT), previous_status, CAST(status_changed_us AS TEXT), status) END
WHERE status IS NOT NULL OR status_changed_us IS NOT NULL;
UPDATE company SET status_path = CASE
  WHEN status_changed_us IS NULL THEN json_object(CAST(created_us AS TEXT), status)
  WHEN previous_status IS NULL OR status_changed_us <= created_us THEN json_object(CAST(status_changed_us AS TEXT), status)
  ELSE json_object(CAST(created_us AS TEXT), previous_status, CAST(status_changed_us AS TEXT), status) END
WHERE status IS NOT NULL OR status_changed_us IS NOT NULL;

-- Reads the figures into this connection.
ANALYZE sqlite_schema;
