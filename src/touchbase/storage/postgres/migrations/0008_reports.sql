-- Reports: the campaign of an event by its id, the statuses that a record has had, and read-only views for SQL.

ALTER TABLE event ADD COLUMN campaign_id text;     -- the campaign's id, where the tool sends one; `campaign` is its name, else its id

-- Mails, replies, bounces, unsubscriptions and complaints of contacts by time, with all that reports count by.
CREATE INDEX event_report ON event (client, effect, occurred_us, record_id, tool, campaign_id, campaign)
  WHERE record_kind = 1 AND effect IN ('sent', 'reply', 'bounce', 'unsubscribe', 'complaint');

-- JSON: each status that the record has had, by the time at which it got it; computed from its events, as `status` is.
-- Of a record from before this migration only the last two.
ALTER TABLE contact ADD COLUMN status_path text;
ALTER TABLE company ADD COLUMN status_path text;
UPDATE contact SET status_path = CASE
  WHEN status_changed_us IS NULL THEN '{"' || created_us || '":' || to_json(status) || '}'
  WHEN previous_status IS NULL OR status_changed_us <= created_us THEN '{"' || status_changed_us || '":' || COALESCE(to_json(status)::text, 'null') || '}'
  ELSE '{"' || created_us || '":' || to_json(previous_status) || ',"' || status_changed_us || '":' || COALESCE(to_json(status)::text, 'null') || '}' END
WHERE status IS NOT NULL OR status_changed_us IS NOT NULL;
UPDATE company SET status_path = CASE
  WHEN status_changed_us IS NULL THEN '{"' || created_us || '":' || to_json(status) || '}'
  WHEN previous_status IS NULL OR status_changed_us <= created_us THEN '{"' || status_changed_us || '":' || COALESCE(to_json(status)::text, 'null') || '}'
  ELSE '{"' || created_us || '":' || to_json(previous_status) || ',"' || status_changed_us || '":' || COALESCE(to_json(status)::text, 'null') || '}' END
WHERE status IS NOT NULL OR status_changed_us IS NOT NULL;
