-- Which calls came within the hour, so that a repeat is found. In a table of its own it stays as small as the hour, however many
-- deliveries are kept, and a delivery that is marked has no entry in a large index of keys to write anew.
CREATE TABLE recent_call (
  client INTEGER NOT NULL,
  key BLOB NOT NULL,
  id INTEGER NOT NULL,
  received_us INTEGER NOT NULL,
  PRIMARY KEY (client, key)
) STRICT, WITHOUT ROWID;
INSERT INTO recent_call (client, key, id, received_us)
  SELECT client, key, id, received_us FROM delivery WHERE received_us > (unixepoch() - 3600) * 1000000;
DROP INDEX delivery_key;
