-- Do-not-contact lists: addresses that must not be contacted, of each client and of the whole installation.

-- A client's list. An entry is computed from the rows of suppression_cause with its address; without a reason it was removed, and the
-- row remembers when, so that a replay of an old event does not bring it back.
CREATE TABLE suppression (
  client bigint NOT NULL,
  kind text NOT NULL,                     -- email, domain, linkedin_url
  value text NOT NULL,                    -- in its normal form; of an erased person a hash with server_secret 'erasure'
  id bigint NOT NULL,
  hashed bigint NOT NULL,                 -- 1: value is a hash
  created_us bigint NOT NULL,             -- when it was put on the list, the last time
  updated_us bigint NOT NULL,
  removed_us bigint NOT NULL,             -- causes up to this time have ended; 0: never removed
  reason text,                            -- NULL: it is not on the list
  source text,                            -- event, import, api, person
  note text NOT NULL,
  since_us bigint,
  until_us bigint,                        -- NULL: without end
  tool text,                              -- the tool and the delivery of the event that it shows
  delivery_id bigint,
  PRIMARY KEY (client, kind, value)
);
CREATE UNIQUE INDEX suppression_id ON suppression (client, id);
CREATE INDEX suppression_created ON suppression (client, created_us, id) WHERE reason IS NOT NULL;
CREATE INDEX suppression_kind ON suppression (client, kind, created_us, id) WHERE reason IS NOT NULL;
CREATE INDEX suppression_reason ON suppression (client, reason, created_us, id) WHERE reason IS NOT NULL;
CREATE INDEX suppression_hashed ON suppression (client) WHERE hashed = 1;

-- Why an address is on a client's list: one row for each event about it, and one, with the key '', for the last request.
CREATE TABLE suppression_cause (
  client bigint NOT NULL,
  kind text NOT NULL,
  value text NOT NULL,                    -- as in suppression
  key text NOT NULL,                      -- identifies the event
  reason text NOT NULL,                   -- resubscribed: ends earlier unsubscriptions
  source text NOT NULL,
  note text NOT NULL,
  since_us bigint NOT NULL,
  until_us bigint,
  at_us bigint NOT NULL,                  -- the effective time of the event, the time of the request
  tool text,
  delivery_id bigint,
  PRIMARY KEY (client, kind, value, key)
);

-- The installation's list, which applies to all clients. It belongs to none of them.
CREATE TABLE installation_suppression (
  kind text NOT NULL,
  value text NOT NULL,
  id bigint NOT NULL,
  created_us bigint NOT NULL,
  updated_us bigint NOT NULL,
  reason text NOT NULL,
  source text NOT NULL,
  note text NOT NULL,
  since_us bigint NOT NULL,
  until_us bigint,
  PRIMARY KEY (kind, value)
);
CREATE UNIQUE INDEX installation_suppression_id ON installation_suppression (id);
CREATE INDEX installation_suppression_created ON installation_suppression (created_us, id);

INSERT INTO id_block (name, next) VALUES ('suppression', 1);

DO $$
DECLARE
  tenant text;
BEGIN
  FOREACH tenant IN ARRAY ARRAY['suppression', 'suppression_cause'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant);
    EXECUTE format(
      'CREATE POLICY of_client ON %I USING (strpos(current_setting(''touchbase.clients'', true), '','' || client || '','') > 0 '
      'OR current_setting(''touchbase.clients'', true) IN (''all''))', tenant);
  END LOOP;
END
$$;
