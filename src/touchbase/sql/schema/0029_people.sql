-- People of the team, their rights, invitations and sessions. They belong to the installation and live in its home store, also where the
-- clients that they may see live in cells.
CREATE TABLE user_account (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,  -- u and 11 hexadecimal digits: no id of a key
  email TEXT COLLATE "C" NOT NULL,        -- in normal form
  name TEXT NOT NULL,
  role TEXT,                              -- for all clients; NULL: only for those of user_grant
  state TEXT NOT NULL,                    -- invited, active, suspended
  time_zone TEXT NOT NULL,
  notifications TEXT NOT NULL,            -- JSON
  password TEXT,                          -- parameters, salt and hash; NULL: there is none
  created_us INTEGER NOT NULL,
  last_seen_us INTEGER,
  version INTEGER NOT NULL                -- of what people change, for If-Match
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX user_account_email ON user_account (email);

CREATE TABLE user_grant (
  user_id TEXT COLLATE "C" NOT NULL,
  granted_client INTEGER NOT NULL,        -- the client's number, also of one in a cell
  role TEXT NOT NULL,
  PRIMARY KEY (user_id, granted_client)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_grant_client ON user_grant (granted_client);

-- One-time links: to join, to choose another password, or to sign in by e-mail.
CREATE TABLE invitation (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  digest TEXT COLLATE "C" NOT NULL,       -- SHA-256 of the link's secret
  user_id TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL,                     -- invitation, reset, sign_in
  created_us INTEGER NOT NULL,
  expires_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX invitation_digest ON invitation (digest);
CREATE UNIQUE INDEX invitation_user ON invitation (user_id, kind);

-- Sessions of the console: of a person, or of an API key.
CREATE TABLE user_session (
  id_hash TEXT COLLATE "C" NOT NULL PRIMARY KEY,  -- SHA-256 of the cookie
  user_id TEXT COLLATE "C",
  key_id TEXT COLLATE "C",
  created_us INTEGER NOT NULL,
  last_seen_us INTEGER NOT NULL,          -- to the minute
  user_agent TEXT NOT NULL,
  address TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX user_session_user ON user_session (user_id, created_us);
CREATE INDEX user_session_created ON user_session (created_us);
DROP TABLE ended_session;

--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('user_account', 'user_account', '100 1'),
  ('user_account', 'user_account_email', '100 1'),
  ('user_grant', 'user_grant', '1000 10 1'),
  ('user_grant', 'user_grant_client', '1000 10'),
  ('invitation', 'invitation', '100 1'),
  ('invitation', 'invitation_digest', '100 1'),
  ('invitation', 'invitation_user', '100 1 1'),
  ('user_session', 'user_session', '1000 1'),
  ('user_session', 'user_session_user', '1000 10 1'),
  ('user_session', 'user_session_created', '1000 1');
-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
--:both
