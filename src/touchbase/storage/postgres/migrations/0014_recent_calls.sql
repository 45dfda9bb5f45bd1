-- Which calls came within the hour, so that a repeat is found. In a table of its own it stays as small as the hour, however many
-- deliveries are kept, and a delivery that is marked has no entry in a large index of keys to write anew.
CREATE TABLE recent_call (
  client bigint NOT NULL,
  key bytea NOT NULL,
  id bigint NOT NULL,
  received_us bigint NOT NULL,
  PRIMARY KEY (client, key)
);
INSERT INTO recent_call (client, key, id, received_us)
  SELECT client, key, id, received_us FROM delivery WHERE received_us > (extract(epoch FROM now()) - 3600) * 1000000;
DROP INDEX delivery_key;

-- The second wall, as before every table with a column `client` (0010_row_level_security).
ALTER TABLE recent_call ENABLE ROW LEVEL SECURITY;
ALTER TABLE recent_call FORCE ROW LEVEL SECURITY;
CREATE POLICY of_client ON recent_call USING (strpos(current_setting('touchbase.clients', true), ',' || client || ',') > 0
  OR current_setting('touchbase.clients', true) IN ('all'));
