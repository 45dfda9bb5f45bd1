-- The answers to requests that carried an idempotency key, kept in the transaction of their write. `client` is 0 for an
-- administrator's call that is limited to no client. `answer` can only be read by the edge that gave it.
CREATE TABLE kept_answer (
  client INTEGER NOT NULL,
  key TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  record_kind INTEGER,
  record_id INTEGER,
  created_us INTEGER NOT NULL,
  expires_us INTEGER NOT NULL,
  answer BLOB NOT NULL,
  PRIMARY KEY (client, key)
) STRICT;
-- Whose values an answer holds, and when it may go.
CREATE INDEX kept_answer_record ON kept_answer (client, record_kind, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX kept_answer_expires ON kept_answer (expires_us);
