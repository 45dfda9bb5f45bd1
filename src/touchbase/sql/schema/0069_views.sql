-- Views of lists of contacts and companies, and the view that a person's list begins with. Client 0: views of all clients.
CREATE TABLE saved_view (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  kind INTEGER NOT NULL,                  -- record_kind
  author TEXT COLLATE "C" NOT NULL,       -- user_account.id or api_key.key_id; blank: a request without a key
  is_shared INTEGER NOT NULL,
  name TEXT NOT NULL,
  content TEXT NOT NULL,                  -- JSON: where, q, sort, columns, layout
  position INTEGER NOT NULL,              -- in the list of views
  version INTEGER NOT NULL,               -- for If-Match
  updated_us INTEGER NOT NULL,
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE default_view (
  client INTEGER NOT NULL,
  person TEXT COLLATE "C" NOT NULL,       -- as saved_view.author
  kind INTEGER NOT NULL,
  view_id INTEGER NOT NULL,
  PRIMARY KEY (client, person, kind)
) STRICT, WITHOUT ROWID;
INSERT INTO id_block (name, next) VALUES ('saved_view', 1);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('saved_view', 'saved_view', '1000 10 1'),
  ('default_view', 'default_view', '1000 10 2 1');
ANALYZE sqlite_schema;
--:both
