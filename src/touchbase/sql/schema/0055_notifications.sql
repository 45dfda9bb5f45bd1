-- Notifications of people: what happened that they want to know, and how far a client's log was looked through for it.
CREATE TABLE notification (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,      -- user_account.id
  kind TEXT NOT NULL,                     -- assignment, reply, positive_reply, critical
  contact_id INTEGER,                     -- NULL: it is about no contact
  about TEXT NOT NULL,                    -- of a critical item: its kind, tool and id
  dedupe TEXT COLLATE "C" NOT NULL,       -- what happened: a person is told once
  created_us INTEGER NOT NULL,
  browser INTEGER NOT NULL,               -- 1: an open console shows it
  mail_us INTEGER,                        -- when it is mailed; NULL: never, or it was
  attempts INTEGER NOT NULL,              -- mails that no server took
  read_us INTEGER,
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX notification_once ON notification (client, user_id, dedupe);
CREATE INDEX notification_contact ON notification (client, contact_id) WHERE contact_id IS NOT NULL;
CREATE INDEX notification_mail ON notification (mail_us) WHERE mail_us IS NOT NULL;
CREATE TABLE notification_position (
  client INTEGER PRIMARY KEY,
  sequence INTEGER NOT NULL               -- of the last event of the log that was looked at
) STRICT;
INSERT INTO id_block (name, next) VALUES ('notification', 1);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('notification', 'notification', '10000 100 1'),
  ('notification', 'notification_once', '10000 100 10 1'),
  ('notification', 'notification_contact', '8000 100 2'),
  ('notification', 'notification_mail', '10 1');
ANALYZE sqlite_schema;
--:both
