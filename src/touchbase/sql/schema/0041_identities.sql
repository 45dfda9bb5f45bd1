-- Accounts of people at an OpenID provider: an issuer's subject is one person, whatever the address is there.
CREATE TABLE user_identity (
  issuer TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  created_us INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_identity_user ON user_identity (user_id);

-- Personal keys: they act as their person, and stay in the home store, so their client has a column of its own.
ALTER TABLE api_key ADD COLUMN user_id TEXT COLLATE "C";      -- user_account.id; NULL: a service's key
ALTER TABLE api_key ADD COLUMN granted_client INTEGER;        -- of a personal key; NULL: all clients of the person
CREATE INDEX api_key_user ON api_key (user_id, created_us, key_id) WHERE user_id IS NOT NULL;
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('user_identity', 'user_identity', '100 10 1'),
  ('user_identity', 'user_identity_user', '100 1'),
  ('api_key', 'api_key_user', '100 10 1 1');
ANALYZE sqlite_schema;
