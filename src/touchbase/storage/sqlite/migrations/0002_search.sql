-- Search: the full-text index of records, the notes of records that it lacks, and indexes by which lists are filtered and sorted.

-- The words of each record, each with the client's number and a letter for the kind before it. The rowid is twice the record's id, plus
-- one for a company. `secure-delete`: what is removed is written over at once, as in the other tables.
CREATE VIRTUAL TABLE search_index USING fts5 (words, tokenize = 'ascii', detail = 'none', columnsize = 0);
INSERT INTO search_index (search_index, rank) VALUES ('secure-delete', 1);

-- Records that changed since they were indexed. Every write of a record's words notes it here.
CREATE TABLE search_pending (
  client INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  PRIMARY KEY (client, record_kind, record_id)
) STRICT, WITHOUT ROWID;

-- The rebuild of a store with rows: all of them are noted, and indexed in the background.
INSERT INTO search_pending (client, record_kind, record_id) SELECT client, 1, id FROM contact;
INSERT INTO search_pending (client, record_kind, record_id) SELECT client, 2, id FROM company;

CREATE INDEX contact_last_sent ON contact (client, last_sent_us, id) WHERE last_sent_us IS NOT NULL;
CREATE INDEX contact_last_reply ON contact (client, last_reply_us, id) WHERE last_reply_us IS NOT NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('contact', 'contact_last_sent', '500000 50000 2 1'),
  ('contact', 'contact_last_reply', '100000 10000 2 1'),
  ('search_pending', 'search_pending', '10000 1000 500 1');

-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
