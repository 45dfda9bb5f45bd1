-- Read marks: how far a person has read the messages with a contact.
CREATE TABLE conversation_read (
  client INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,      -- user_account.id
  read_us INTEGER NOT NULL,               -- messages received later are unread
  PRIMARY KEY (client, contact_id, user_id)
) STRICT, WITHOUT ROWID;
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('conversation_read', 'conversation_read', '100000 1000 2 1');
ANALYZE sqlite_schema;
--:both
