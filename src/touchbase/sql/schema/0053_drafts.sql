-- Drafts of answers, and the team's snippets.
CREATE TABLE answer_draft (
  client INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,      -- user_account.id: whoever writes it
  text TEXT NOT NULL,
  updated_us INTEGER NOT NULL,
  PRIMARY KEY (client, contact_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE snippet (
  id TEXT COLLATE "C" PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL UNIQUE,  -- what follows the / in an answer
  text TEXT NOT NULL,                     -- with fields such as {{first_name}}
  updated_us INTEGER NOT NULL,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX answer_unsent ON answer (client, message_id, id) WHERE state IN ('failed', 'unknown');
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('answer_draft', 'answer_draft', '1000 100 1 1'),
  ('answer', 'answer_unsent', '10 5 1 1');
ANALYZE sqlite_schema;
--:both
