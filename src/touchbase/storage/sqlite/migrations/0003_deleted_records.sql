-- The bin: records that were deleted and can be restored, their identities, and merges by request that can be undone.
-- Also indexes by which duplicates are found.

-- Deleted records. Their events stay in `event`; everything else of them is here.
CREATE TABLE deleted_record (
  client INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  deleted_us INTEGER NOT NULL,
  content TEXT NOT NULL,                  -- JSON (bin/models.py): the record, its custom fields, the contacts of a company
  PRIMARY KEY (client, record_kind, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_record_newest ON deleted_record (client, record_kind, deleted_us, record_id);

-- The identities of deleted records, as in `link`; with the tool '' their addresses. Two deleted records may have had the same one.
CREATE TABLE deleted_link (
  client INTEGER NOT NULL,
  tool TEXT NOT NULL,
  object_type TEXT NOT NULL,
  object_id TEXT NOT NULL,
  record_kind INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  id INTEGER,                             -- link.id; NULL: the record's address, which has no link
  deleted_us INTEGER NOT NULL,            -- as in deleted_record
  PRIMARY KEY (client, tool, object_type, object_id, record_kind, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_link_record ON deleted_link (client, record_kind, record_id);

-- Merges by request, as long as they can be undone.
CREATE TABLE record_merge (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,           -- the record that the others were merged into
  record_id INTEGER NOT NULL,
  merged_us INTEGER NOT NULL,
  undone_us INTEGER,                      -- NULL: it stands
  content TEXT NOT NULL,                  -- JSON (merging/models.py): the records as they were
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX record_merge_survivor ON record_merge (client, record_kind, record_id);
CREATE INDEX record_merge_old ON record_merge (client, merged_us);

-- Blocks of records that may be duplicates: equal surnames, equal domains of addresses, equal names.
-- The domain is written so that both engines have it.
CREATE INDEX contact_surname ON contact (client, lower(last_name), lower(COALESCE(first_name, '')), id) WHERE last_name IS NOT NULL;
CREATE INDEX contact_address ON contact (client, replace(email_key, rtrim(email_key, replace(email_key, '@', '')), ''), email_key, id) WHERE email_key IS NOT NULL;
CREATE INDEX company_name ON company (client, lower(name), id) WHERE name IS NOT NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('deleted_record', 'deleted_record', '10000 1000 500 1'),
  ('deleted_record', 'deleted_record_newest', '10000 1000 500 2 1'),
  ('deleted_link', 'deleted_link', '30000 3000 1000 500 2 1 1'),
  ('deleted_link', 'deleted_link_record', '30000 3000 1500 3'),
  ('record_merge', 'record_merge', '10000 1000 1'),
  ('record_merge', 'record_merge_survivor', '10000 1000 500 2'),
  ('record_merge', 'record_merge_old', '10000 1000 2'),
  ('contact', 'contact_surname', '1000000 100000 10 2 1'),
  ('contact', 'contact_address', '1000000 100000 10 1 1'),
  ('company', 'company_name', '100000 10000 2 1');
INSERT INTO id_block (name, next) VALUES ('record_merge', 1);

-- Reads the figures into this connection.
ANALYZE sqlite_schema;
