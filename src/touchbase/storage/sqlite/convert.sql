-- From the migrations before `0001_initial` (sql/squash.py) to the schema that it makes: other names, the same rows.
DELETE FROM migration;

ALTER TABLE seal_key RENAME TO encryption_key;
ALTER TABLE company_claim RENAME TO pending_company_link;
ALTER TABLE recent_call RENAME TO dedupe_key;
ALTER TABLE record_source RENAME TO fetch_state;
ALTER TABLE wanted_record RENAME TO fetch_queue;
ALTER TABLE kept_answer RENAME TO idempotency_key;

ALTER TABLE connection RENAME COLUMN guarded_us TO secrets_since_us;
ALTER TABLE delivery RENAME COLUMN body_gone TO body_removed;
ALTER TABLE delivery RENAME COLUMN body_gone_us TO body_removed_us;
ALTER TABLE delivery RENAME COLUMN twin TO duplicate_of;
ALTER TABLE dedupe_key RENAME COLUMN id TO delivery_id;
ALTER TABLE dedupe_key RENAME COLUMN twin TO duplicate_of;
ALTER TABLE fetch_queue RENAME COLUMN wanted_us TO requested_us;
ALTER TABLE idempotency_key RENAME COLUMN answer TO response;
ALTER TABLE erasure RENAME COLUMN asked_us TO requested_us;

-- SQLite cannot rename an index. These tables are small.
DROP INDEX company_claim_record;
DROP INDEX recent_call_received;
DROP INDEX wanted_record_due;
DROP INDEX kept_answer_record;
DROP INDEX kept_answer_expires;
CREATE INDEX pending_company_link_record ON pending_company_link (client, record_kind, record_id);
CREATE INDEX dedupe_key_received ON dedupe_key (client, received_us);
CREATE INDEX fetch_queue_due ON fetch_queue (client, tool, rank, next_us) WHERE next_us IS NOT NULL;
CREATE INDEX idempotency_key_record ON idempotency_key (client, record_kind, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX idempotency_key_expires ON idempotency_key (expires_us);

-- The planner's figures: those of an empty store, and of a table that needs none, go; the dropped indexes took theirs along.
DELETE FROM sqlite_stat1 WHERE stat LIKE '0 0%' OR tbl IN ('id_block', 'company_claim', 'recent_call', 'pending_company_link', 'dedupe_key');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('pending_company_link', 'pending_company_link', '100000 10000 5000 5000 10 10 1'),
  ('pending_company_link', 'pending_company_link_record', '100000 10000 10000 2 1 1 1'),
  ('dedupe_key', 'dedupe_key', '1000000 100000 1'),
  ('dedupe_key', 'dedupe_key_received', '1000000 100000 2');

ANALYZE sqlite_schema;
