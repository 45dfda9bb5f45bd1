-- Messages: sent and received mails and LinkedIn messages. A row is what one event, or one request, says of a message; rows of one
-- contact with the same copy key and direction are shown as one message. The contact is that of the event with the row's key and
-- time, so that a message follows its event when records are merged or separated.

CREATE TABLE message (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  direction TEXT NOT NULL,                -- sent, received
  channel TEXT NOT NULL,                  -- email, linkedin
  occurred_us INTEGER NOT NULL,           -- with event_key: event.occurred_us and event.key
  event_key TEXT NOT NULL,
  delivery_id INTEGER,                    -- NULL: made by a request
  received_us INTEGER NOT NULL,
  tool TEXT NOT NULL,
  mailbox TEXT,                           -- the client's own address or account
  subject TEXT,
  text TEXT,
  html TEXT,
  campaign_id TEXT,
  campaign_name TEXT,
  step TEXT,
  message_id TEXT,
  thread_id TEXT,
  category TEXT,
  interested INTEGER,                     -- 1, 0, NULL: not known
  custom TEXT NOT NULL,                   -- JSON: custom fields
  updated_us INTEGER NOT NULL,            -- the last request that changed the row; before one, when it was received
  copy_key TEXT,                          -- the mail's own id, or the tool and its id of the message; NULL: it has no other copies
  has_body INTEGER NOT NULL,              -- 1: subject, text or html is stored
  deleted INTEGER NOT NULL,               -- 1: removed by a request; the row stays, so that no repeat brings the message back
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX message_event ON message (client, event_key, occurred_us);
CREATE INDEX message_time ON message (client, occurred_us, id);
CREATE INDEX message_copies ON message (client, copy_key) WHERE copy_key IS NOT NULL;
CREATE INDEX message_body ON message (client, received_us) WHERE has_body = 1;

-- The key of an event leads from a message to its contact, also for messages that requests make.
DROP INDEX event_key;
CREATE INDEX event_key ON event (client, key, occurred_us) WHERE delivery_id IS NOT NULL OR event IN ('message.received', 'message.sent');

INSERT INTO id_block (name, next) VALUES ('message', 1);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('event', 'event_key', '10000000 1000000 2 1 1 1'),
  ('message', 'message', '1000000 100000 1'),
  ('message', 'message_event', '1000000 100000 1 1'),
  ('message', 'message_time', '1000000 100000 2 1'),
  ('message', 'message_copies', '1000000 100000 2'),
  ('message', 'message_body', '1000000 100000 2');

-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
