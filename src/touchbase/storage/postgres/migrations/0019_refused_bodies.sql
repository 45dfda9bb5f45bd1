-- Bodies of webhooks that were refused because they did not prove their sender, encrypted, for some days.

CREATE TABLE refused_body (
  client bigint NOT NULL,
  digest text COLLATE "C" NOT NULL,       -- of channel, query and body: the same webhook is stored once
  channel text NOT NULL,
  tool text,                              -- the tool that it looks like; NULL: none
  first_us bigint NOT NULL,
  received_us bigint NOT NULL,            -- the last call
  calls bigint NOT NULL,
  size bigint NOT NULL,                   -- bytes of the body
  content text NOT NULL,                  -- encrypted headers, query and body; empty once it was replayed
  replayed_us bigint,
  replayed_by text,                       -- the API key, or the command line
  delivery_id bigint,                     -- the delivery that the replay made
  PRIMARY KEY (client, digest)
);
CREATE INDEX refused_body_received ON refused_body (client, received_us, digest);

ALTER TABLE refusal ADD COLUMN body text;  -- refused_body.digest; NULL: its body was not stored

ALTER TABLE refused_body ENABLE ROW LEVEL SECURITY;
ALTER TABLE refused_body FORCE ROW LEVEL SECURITY;
CREATE POLICY of_client ON refused_body USING (strpos(current_setting('touchbase.clients', true), ',' || client || ',') > 0
  OR current_setting('touchbase.clients', true) IN ('all'));
