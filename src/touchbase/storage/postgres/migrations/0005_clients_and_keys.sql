-- Clients have a name, a state, and former ids; how far the removal of one has come stands in its row.
ALTER TABLE client ADD COLUMN name text NOT NULL DEFAULT '';
ALTER TABLE client ADD COLUMN state text NOT NULL DEFAULT 'active';
ALTER TABLE client ADD COLUMN state_us bigint;
ALTER TABLE client ADD COLUMN removed bigint NOT NULL DEFAULT 0;
ALTER TABLE client ADD COLUMN rows_total bigint;
CREATE INDEX client_deleting ON client (state) WHERE state = 'deleting';

-- Like client itself, found by the id that an address names. A former id is nobody else's while its client is there.
CREATE TABLE client_alias (
  client_id text NOT NULL PRIMARY KEY,
  client bigint NOT NULL,
  until_us bigint NOT NULL
);
CREATE INDEX client_alias_client ON client_alias (client, client_id);

ALTER TABLE api_key ADD COLUMN env text NOT NULL DEFAULT 'live';
ALTER TABLE api_key ADD COLUMN expires_us bigint;
ALTER TABLE api_key ADD COLUMN revoked_us bigint;
ALTER TABLE api_key ADD COLUMN last_used_us bigint;
ALTER TABLE api_key ADD COLUMN replaces text;
ALTER TABLE api_key ADD COLUMN replaced_by text;
CREATE INDEX api_key_client ON api_key (client, key_id);

-- Whoever makes a store's first key holds this row, so that two processes never make two.
INSERT INTO id_block (name, next) VALUES ('first_key', 1);
