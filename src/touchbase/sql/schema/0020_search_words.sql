-- The words of each record, from which the index of SQLite is changed word by word: to write all words of a record again takes
-- milliseconds. PostgreSQL has them in the index itself.
--:sqlite
CREATE TABLE search_words (
  record INTEGER NOT NULL PRIMARY KEY,    -- twice the record's id, plus one for a company
  words TEXT NOT NULL
) STRICT;
INSERT INTO search_words (record, words) SELECT rowid, words FROM search_index;
DROP TABLE search_index;
CREATE VIRTUAL TABLE search_index USING fts5 (
  words, content = 'search_words', content_rowid = 'record', tokenize = 'ascii', detail = 'none', columnsize = 0
);
INSERT INTO search_index (search_index, rank) VALUES ('secure-delete', 1);
INSERT INTO search_index (search_index) VALUES ('rebuild');
-- The words of a removed record leave the index in the same statement.
CREATE TRIGGER search_words_removed AFTER DELETE ON search_words BEGIN
  INSERT INTO search_index (search_index, rowid, words) VALUES ('delete', old.record, old.words);
END;
--:postgres
SELECT 1; -- asyncpg needs a statement
--:both
