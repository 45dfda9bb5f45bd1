-- Conversations: which received messages a person has handled, and what people decided about the messages of a contact.
ALTER TABLE message ADD COLUMN handled_us INTEGER DEFAULT 0;        -- of received messages: when they were handled, also by their age; NULL: not yet
ALTER TABLE message ADD COLUMN handled_by TEXT;                     -- JSON: the author of the mark; NULL: nobody
ALTER TABLE message ADD COLUMN automatic INTEGER NOT NULL DEFAULT 0;  -- 1: a machine wrote it, such as an out-of-office reply
ALTER TABLE message ADD COLUMN label TEXT;                          -- what its author wants, by the tool's category (messages/labels.py)
--:postgres
ALTER TABLE message ALTER COLUMN handled_us DROP DEFAULT;
--:both
CREATE INDEX message_open ON message (client, occurred_us, id) WHERE direction = 'received' AND handled_us IS NULL AND deleted = 0;
-- The received messages of the fourteen days before the newest message begin as not handled.
UPDATE message SET handled_us = NULL, automatic = CASE WHEN EXISTS (
  SELECT 1 FROM event e WHERE e.client = message.client AND e.key = message.event_key AND e.occurred_us = message.occurred_us
  AND e.delivery_id IS NOT NULL AND e.event = 'email_auto_replied') THEN 1 ELSE 0 END
FROM (SELECT client AS of_client, max(occurred_us) - 1209600000000 AS since_us FROM message GROUP BY client) newest
WHERE client = newest.of_client AND occurred_us > newest.since_us AND direction = 'received' AND deleted = 0;

CREATE TABLE conversation (
  client INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  snoozed_us INTEGER,                     -- when it was snoozed: replies received later end that
  snoozed_until_us INTEGER,
  label TEXT,                             -- a person's choice; NULL: that of the newest reply
  assignee_id TEXT COLLATE "C",           -- user_account.id; NULL: nobody
  updated_us INTEGER NOT NULL,
  updated_by TEXT NOT NULL,               -- JSON: the author of the last change
  PRIMARY KEY (client, contact_id)
) STRICT, WITHOUT ROWID;
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('message', 'message_open', '1000 100 1 1'),
  ('conversation', 'conversation', '10000 100 1');
ANALYZE sqlite_schema;
--:both
