-- Tasks of the team, and the users who look after records. As with notes, the entry in the history says whose task it is, so that merges and their undo move both.
CREATE TABLE task (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  event_key TEXT COLLATE "C" NOT NULL,    -- event.key
  author TEXT NOT NULL,                   -- JSON: key or person, request
  text TEXT NOT NULL,
  due_us INTEGER NOT NULL,
  assignee_id TEXT COLLATE "C",           -- user_account.id; NULL: nobody
  done_us INTEGER,                        -- NULL: it is open
  done_by TEXT,                           -- JSON, as author
  created_us INTEGER NOT NULL,            -- event.occurred_us
  updated_us INTEGER NOT NULL,
  PRIMARY KEY (client, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX task_event ON task (client, event_key);
CREATE INDEX task_open ON task (client, due_us, id) WHERE done_us IS NULL;
CREATE INDEX task_done ON task (client, due_us, id) WHERE done_us IS NOT NULL;
CREATE INDEX task_due ON task (due_us) WHERE done_us IS NULL AND assignee_id IS NOT NULL;
-- From a task to its record.
CREATE INDEX event_task ON event (client, key) WHERE event IN ('contact.tasked', 'company.tasked');
INSERT INTO id_block (name, next) VALUES ('task', 1);
ALTER TABLE contact ADD COLUMN owner_id TEXT COLLATE "C";    -- user_account.id
ALTER TABLE company ADD COLUMN owner_id TEXT COLLATE "C";
CREATE INDEX contact_owner ON contact (client, owner_id, created_us, id) WHERE owner_id IS NOT NULL;
CREATE INDEX company_owner ON company (client, owner_id, created_us, id) WHERE owner_id IS NOT NULL;
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('task', 'task', '1000000 10000 1'),
  ('task', 'task_event', '1000000 10000 1'),
  ('task', 'task_open', '100000 1000 2 1'),
  ('task', 'task_done', '900000 9000 2 1'),
  ('task', 'task_due', '100000 2'),
  ('event', 'event_task', '1000000 10000 1'),
  ('contact', 'contact_owner', '1000000 10000 200 1 1'),
  ('company', 'company_owner', '100000 1000 50 1 1');
ANALYZE sqlite_schema;
--:both
