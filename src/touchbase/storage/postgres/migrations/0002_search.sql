-- Search: the full-text index of records, the notes of records that it lacks, and indexes by which lists are filtered and sorted.

-- The words of each record, each with the client's number and a letter for the kind before it. `record` is twice the record's id, plus
-- one for a company. Row-level security guards the writes. It lets every session read: behind a condition the server would not use the
-- GIN index, as its search is no leakproof function. A search without a client's number matches nothing, and what it finds is numbers
-- of records, which are read through their own tables.
CREATE TABLE search_index (
  client bigint NOT NULL,
  record bigint NOT NULL,
  words tsvector NOT NULL,
  PRIMARY KEY (client, record)
);
ALTER TABLE search_index ENABLE ROW LEVEL SECURITY;
ALTER TABLE search_index FORCE ROW LEVEL SECURITY;
CREATE POLICY of_client ON search_index USING (strpos(current_setting('touchbase.clients', true), ',' || client || ',') > 0
  OR current_setting('touchbase.clients', true) IN ('all'));
CREATE POLICY read_numbers ON search_index FOR SELECT USING (true);
CREATE INDEX search_index_words ON search_index USING gin (words);

-- Records that changed since they were indexed. Every write of a record's words notes it here.
CREATE TABLE search_pending (
  client bigint NOT NULL,
  record_kind bigint NOT NULL,
  record_id bigint NOT NULL,
  PRIMARY KEY (client, record_kind, record_id)
);
ALTER TABLE search_pending ENABLE ROW LEVEL SECURITY;
ALTER TABLE search_pending FORCE ROW LEVEL SECURITY;
CREATE POLICY of_client ON search_pending USING (strpos(current_setting('touchbase.clients', true), ',' || client || ',') > 0
  OR current_setting('touchbase.clients', true) IN ('all'));

-- The rebuild of a store with rows: all of them are noted, and indexed in the background.
INSERT INTO search_pending (client, record_kind, record_id) SELECT client, 1, id FROM contact;
INSERT INTO search_pending (client, record_kind, record_id) SELECT client, 2, id FROM company;

CREATE INDEX contact_last_sent ON contact (client, last_sent_us, id) WHERE last_sent_us IS NOT NULL;
CREATE INDEX contact_last_reply ON contact (client, last_reply_us, id) WHERE last_reply_us IS NOT NULL;

-- Normal forms are sorted, and searched by their beginning, in the order of their characters.
ALTER TABLE contact ALTER COLUMN email_key TYPE text COLLATE "C";
ALTER TABLE company ALTER COLUMN domain TYPE text COLLATE "C";
