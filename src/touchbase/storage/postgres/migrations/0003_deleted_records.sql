-- The bin: records that were deleted and can be restored, their identities, and merges by request that can be undone.
-- Also indexes by which duplicates are found.

-- Deleted records. Their events stay in `event`; everything else of them is here.
CREATE TABLE deleted_record (
  client bigint NOT NULL,
  record_kind bigint NOT NULL,
  record_id bigint NOT NULL,
  deleted_us bigint NOT NULL,
  content text NOT NULL,                  -- JSON (bin/models.py): the record, its custom fields, the contacts of a company
  PRIMARY KEY (client, record_kind, record_id)
);
CREATE INDEX deleted_record_newest ON deleted_record (client, record_kind, deleted_us, record_id);

-- The identities of deleted records, as in `link`; with the tool '' their addresses. Two deleted records may have had the same one.
CREATE TABLE deleted_link (
  client bigint NOT NULL,
  tool text NOT NULL,
  object_type text NOT NULL,
  object_id text NOT NULL,
  record_kind bigint NOT NULL,
  record_id bigint NOT NULL,
  id bigint,                              -- link.id; NULL: the record's address, which has no link
  deleted_us bigint NOT NULL,             -- as in deleted_record
  PRIMARY KEY (client, tool, object_type, object_id, record_kind, record_id)
);
CREATE INDEX deleted_link_record ON deleted_link (client, record_kind, record_id);

-- Merges by request, as long as they can be undone.
CREATE TABLE record_merge (
  client bigint NOT NULL,
  id bigint NOT NULL,
  record_kind bigint NOT NULL,            -- the record that the others were merged into
  record_id bigint NOT NULL,
  merged_us bigint NOT NULL,
  undone_us bigint,                       -- NULL: it stands
  content text NOT NULL,                  -- JSON (merging/models.py): the records as they were
  PRIMARY KEY (client, id)
);
CREATE INDEX record_merge_survivor ON record_merge (client, record_kind, record_id);
CREATE INDEX record_merge_old ON record_merge (client, merged_us);

-- Blocks of records that may be duplicates: equal surnames, equal domains of addresses, equal names.
-- The domain is written so that both engines have it.
CREATE INDEX contact_surname ON contact (client, lower(last_name), lower(COALESCE(first_name, '')), id) WHERE last_name IS NOT NULL;
CREATE INDEX contact_address ON contact (client, replace(email_key, rtrim(email_key, replace(email_key, '@', '')), ''), email_key, id) WHERE email_key IS NOT NULL;
CREATE INDEX company_name ON company (client, lower(name), id) WHERE name IS NOT NULL;

-- As in 0001_initial: a row belongs to the transactions whose scope includes its client.
ALTER TABLE deleted_record ENABLE ROW LEVEL SECURITY;
ALTER TABLE deleted_record FORCE ROW LEVEL SECURITY;
CREATE POLICY of_client ON deleted_record USING (strpos(current_setting('touchbase.clients', true), ',' || client || ',') > 0
  OR current_setting('touchbase.clients', true) IN ('all'));
ALTER TABLE deleted_link ENABLE ROW LEVEL SECURITY;
ALTER TABLE deleted_link FORCE ROW LEVEL SECURITY;
CREATE POLICY of_client ON deleted_link USING (strpos(current_setting('touchbase.clients', true), ',' || client || ',') > 0
  OR current_setting('touchbase.clients', true) IN ('all'));
ALTER TABLE record_merge ENABLE ROW LEVEL SECURITY;
ALTER TABLE record_merge FORCE ROW LEVEL SECURITY;
CREATE POLICY of_client ON record_merge USING (strpos(current_setting('touchbase.clients', true), ',' || client || ',') > 0
  OR current_setting('touchbase.clients', true) IN ('all'));

INSERT INTO id_block (name, next) VALUES ('record_merge', 1);
