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

-- ---------------------------------------------------------------------------------------------------------------------
-- Read-only views for SQL. Their names and columns are a contract (docs/reference/sql-views.md): a migration that changes a column
-- beneath them drops and creates them again. Times are texts as in the API, with six digits of a second; the large number is the seconds from year 1 to 1970.

CREATE VIEW touchbase_contacts AS SELECT
  c.client_id AS client_id,
  r.id AS id,
  strftime('%Y-%m-%dT%H:%M:%S', (r.created_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (r.created_us + 62135596800000000) % 1000000) AS created_at,
  strftime('%Y-%m-%dT%H:%M:%S', (r.updated_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (r.updated_us + 62135596800000000) % 1000000) AS updated_time,
  r.email AS email,
  r.linkedin_url AS linkedin_url,
  r.first_name AS first_name,
  r.last_name AS last_name,
  r.company_id AS company_id,
  r.origin AS origin,
  r.status AS contact_status,
  r.previous_status AS previous_status,
  strftime('%Y-%m-%dT%H:%M:%S', (r.status_changed_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (r.status_changed_us + 62135596800000000) % 1000000) AS status_changed_at,
  strftime('%Y-%m-%dT%H:%M:%S', (r.first_sent_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (r.first_sent_us + 62135596800000000) % 1000000) AS first_campaign_email_sent,
  strftime('%Y-%m-%dT%H:%M:%S', (r.last_sent_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (r.last_sent_us + 62135596800000000) % 1000000) AS last_campaign_email_sent,
  strftime('%Y-%m-%dT%H:%M:%S', (r.last_reply_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (r.last_reply_us + 62135596800000000) % 1000000) AS last_reply_received
FROM contact r JOIN client c ON c.id = r.client;

CREATE VIEW touchbase_companies AS SELECT
  c.client_id AS client_id,
  r.id AS id,
  strftime('%Y-%m-%dT%H:%M:%S', (r.created_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (r.created_us + 62135596800000000) % 1000000) AS created_at,
  strftime('%Y-%m-%dT%H:%M:%S', (r.updated_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (r.updated_us + 62135596800000000) % 1000000) AS updated_time,
  r.domain AS domain,
  r.name AS name,
  r.status AS company_status,
  r.previous_status AS previous_status,
  strftime('%Y-%m-%dT%H:%M:%S', (r.status_changed_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (r.status_changed_us + 62135596800000000) % 1000000) AS status_changed_at
FROM company r JOIN client c ON c.id = r.client;

CREATE VIEW touchbase_custom_values AS SELECT
  c.client_id AS client_id,
  CASE f.record_kind WHEN 1 THEN 'contact' ELSE 'company' END AS record,
  f.record_id AS record_id,
  f.name AS field_name,
  f.value AS field_value,
  strftime('%Y-%m-%dT%H:%M:%S', (f.updated_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (f.updated_us + 62135596800000000) % 1000000) AS updated_time
FROM custom_field f JOIN client c ON c.id = f.client WHERE f.value IS NOT NULL;

CREATE VIEW touchbase_events AS SELECT
  c.client_id AS client_id,
  CASE e.record_kind WHEN 1 THEN 'contact' ELSE 'company' END AS record,
  e.record_id AS record_id,
  strftime('%Y-%m-%dT%H:%M:%S', (e.occurred_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (e.occurred_us + 62135596800000000) % 1000000) AS occurred_at,
  strftime('%Y-%m-%dT%H:%M:%S', (e.received_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (e.received_us + 62135596800000000) % 1000000) AS received_at,
  e.key AS event_key,
  e.event AS event,
  NULLIF(e.effect, '') AS effect,
  e.status AS status,
  e.channel AS channel,
  e.tool AS tool,
  e.campaign AS campaign,
  e.campaign_id AS campaign_id,
  e.delivery_id AS delivery_id
FROM event e JOIN client c ON c.id = e.client
WHERE e.record_kind IN (1, 2) AND NOT EXISTS (
  SELECT 1 FROM deleted_record d WHERE d.client = e.client AND d.record_kind = e.record_kind AND d.record_id = e.record_id);

CREATE VIEW touchbase_deliveries AS SELECT
  c.client_id AS client_id,
  d.id AS id,
  strftime('%Y-%m-%dT%H:%M:%S', (d.received_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (d.received_us + 62135596800000000) % 1000000) AS received_at,
  strftime('%Y-%m-%dT%H:%M:%S', (d.applied_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (d.applied_us + 62135596800000000) % 1000000) AS applied_at,
  d.channel AS channel,
  d.tool AS tool,
  d.state AS state,
  d.attempts AS attempts,
  d.repeats AS repeats,
  d.error AS error,
  d.verified AS verified,
  d.size AS size
FROM delivery d JOIN client c ON c.id = d.client;

CREATE VIEW touchbase_suppressions AS SELECT
  c.client_id AS client_id,
  s.kind AS kind,
  CASE s.hashed WHEN 0 THEN s.value END AS value,
  s.reason AS reason,
  s.source AS source,
  NULLIF(s.note, '') AS note,
  strftime('%Y-%m-%dT%H:%M:%S', (s.since_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (s.since_us + 62135596800000000) % 1000000) AS since,
  strftime('%Y-%m-%dT%H:%M:%S', (s.until_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (s.until_us + 62135596800000000) % 1000000) AS until,
  strftime('%Y-%m-%dT%H:%M:%S', (s.created_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (s.created_us + 62135596800000000) % 1000000) AS created_at,
  s.tool AS tool,
  s.delivery_id AS delivery_id
FROM suppression s JOIN client c ON c.id = s.client WHERE s.reason IS NOT NULL
UNION ALL SELECT
  CAST(NULL AS text) AS client_id,
  i.kind AS kind,
  i.value AS value,
  i.reason AS reason,
  i.source AS source,
  NULLIF(i.note, '') AS note,
  strftime('%Y-%m-%dT%H:%M:%S', (i.since_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (i.since_us + 62135596800000000) % 1000000) AS since,
  strftime('%Y-%m-%dT%H:%M:%S', (i.until_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (i.until_us + 62135596800000000) % 1000000) AS until,
  strftime('%Y-%m-%dT%H:%M:%S', (i.created_us + 62135596800000000) / 1000000 - 62135596800, 'unixepoch') || printf('.%06dZ', (i.created_us + 62135596800000000) % 1000000) AS created_at,
  CAST(NULL AS text) AS tool,
  CAST(NULL AS bigint) AS delivery_id
FROM installation_suppression i;

-- Reads the figures into this connection.
ANALYZE sqlite_schema;
