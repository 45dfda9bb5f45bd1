-- Reports: the campaign of an event by its id, the statuses that a record has had, and read-only views for SQL.

ALTER TABLE event ADD COLUMN campaign_id TEXT;     -- the campaign's id, where the tool sends one; `campaign` is its name, else its id

-- Mails, replies, bounces, unsubscriptions and complaints of contacts by time, with all that reports count by.
CREATE INDEX event_report ON event (client, effect, occurred_us, record_id, tool, campaign_id, campaign)
  WHERE record_kind = 1 AND (effect = 'sent' OR effect = 'reply' OR effect = 'bounce' OR effect = 'unsubscribe' OR effect = 'complaint');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('event', 'event_report', '5000000 500000 100000 2 1 1 1 1 1 1');

-- Reads the figures into this connection.
ANALYZE sqlite_schema;
