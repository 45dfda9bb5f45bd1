-- Answers to replies, which the APIs of the tools send.
ALTER TABLE message ADD COLUMN reply_ref TEXT;              -- JSON: the ids by which the tool's API answers it; NULL: it cannot
ALTER TABLE message ADD COLUMN thread_url TEXT;             -- where the tool shows its conversation

CREATE TABLE answer (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  message_id INTEGER NOT NULL,            -- the copy of the message that it answers: the contact is that of its event
  state TEXT NOT NULL COLLATE "C",        -- queued, sending, sent, failed or unknown
  tool TEXT NOT NULL,
  text TEXT NOT NULL,                     -- empty once it is sent: its message has the text
  closes INTEGER NOT NULL,                -- 1: once sent, it handles the replies that came before it
  confirmed INTEGER NOT NULL,             -- 1: somebody confirmed that it goes to a person who is blocked
  created_us INTEGER NOT NULL,
  created_by TEXT NOT NULL,               -- JSON: its author
  due_us INTEGER NOT NULL,                -- queued: when it is sent; sending: when the lease ends; else when that ended
  attempts INTEGER NOT NULL,              -- requests that the tool refused for its rate limit
  reason TEXT NOT NULL,                   -- why it failed or is unknown, and what to do
  sent_message_id INTEGER,                -- message.id of what it became
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX answer_message ON answer (client, message_id);
CREATE INDEX answer_due ON answer (due_us) WHERE state IN ('queued', 'sending');
INSERT INTO id_block (name, next) VALUES ('answer', 1);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('answer', 'answer', '10000 100 1'),
  ('answer', 'answer_message', '10000 100 1'),
  ('answer', 'answer_due', '10 1');
ANALYZE sqlite_schema;
--:both
