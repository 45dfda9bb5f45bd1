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

ALTER INDEX company_claim_record RENAME TO pending_company_link_record;
ALTER INDEX recent_call_received RENAME TO dedupe_key_received;
ALTER INDEX wanted_record_due RENAME TO fetch_queue_due;
ALTER INDEX kept_answer_record RENAME TO idempotency_key_record;
ALTER INDEX kept_answer_expires RENAME TO idempotency_key_expires;

-- Primary keys and, from PostgreSQL 18 on, NOT NULL constraints are named after their table and column.
DO $$
DECLARE
  misnamed record;
BEGIN
  FOR misnamed IN
    SELECT t.relname, c.conname, CASE c.contype WHEN 'p' THEN t.relname || '_pkey' ELSE t.relname || '_' || a.attname || '_not_null' END AS name
    FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid LEFT JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
    WHERE c.connamespace = current_schema()::regnamespace AND c.contype IN ('p', 'n') AND t.relname IN
      ('encryption_key', 'pending_company_link', 'dedupe_key', 'fetch_state', 'fetch_queue', 'idempotency_key', 'erasure')
  LOOP
    IF misnamed.conname <> misnamed.name THEN
      EXECUTE format('ALTER TABLE %I RENAME CONSTRAINT %I TO %I', misnamed.relname, misnamed.conname, misnamed.name);
    END IF;
  END LOOP;
END
$$;
