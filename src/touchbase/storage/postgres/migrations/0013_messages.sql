-- Messages: sent and received mails and LinkedIn messages. A row is what one event, or one request, says of a message; rows of one
-- contact with the same copy key and direction are shown as one message. The contact is that of the event with the row's key and
-- time, so that a message follows its event when records are merged or separated.

CREATE TABLE message (
  client bigint NOT NULL,
  id bigint NOT NULL,
  direction text NOT NULL,                -- sent, received
  channel text NOT NULL,                  -- email, linkedin
  occurred_us bigint NOT NULL,            -- with event_key: event.occurred_us and event.key
  event_key text NOT NULL,
  delivery_id bigint,                     -- NULL: made by a request
  received_us bigint NOT NULL,
  tool text NOT NULL,
  mailbox text,                           -- the client's own address or account
  subject text,
  text text,
  html text,
  campaign_id text,
  campaign_name text,
  step text,
  message_id text,
  thread_id text,
  category text,
  interested bigint,                      -- 1, 0, NULL: not known
  custom text NOT NULL,                   -- JSON: custom fields
  updated_us bigint NOT NULL,             -- the last request that changed the row; before one, when it was received
  copy_key text,                          -- the mail's own id, or the tool and its id of the message; NULL: it has no other copies
  has_body bigint NOT NULL,               -- 1: subject, text or html is stored
  deleted bigint NOT NULL,               -- 1: removed by a request; the row stays, so that no repeat brings the message back
  PRIMARY KEY (client, id)
);
CREATE UNIQUE INDEX message_event ON message (client, event_key, occurred_us);
CREATE INDEX message_time ON message (client, occurred_us, id);
CREATE INDEX message_copies ON message (client, copy_key) WHERE copy_key IS NOT NULL;
CREATE INDEX message_body ON message (client, received_us) WHERE has_body = 1;

-- The key of an event leads from a message to its contact, also for messages that requests make.
DROP INDEX event_key;
CREATE INDEX event_key ON event (client, key, occurred_us) WHERE delivery_id IS NOT NULL OR event IN ('message.received', 'message.sent');

INSERT INTO id_block (name, next) VALUES ('message', 1);

DO $$
DECLARE
  tenant text;
BEGIN
  FOREACH tenant IN ARRAY ARRAY['message'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant);
    EXECUTE format(
      'CREATE POLICY of_client ON %I USING (strpos(current_setting(''touchbase.clients'', true), '','' || client || '','') > 0 '
      'OR current_setting(''touchbase.clients'', true) IN (''all''))', tenant);
  END LOOP;
END
$$;
