-- Which tools a client has connected on which channel. Secrets and settings are JSON.
CREATE TABLE connection (
  client bigint NOT NULL,
  channel text NOT NULL,
  tool text NOT NULL,
  created_us bigint NOT NULL,
  updated_us bigint NOT NULL,
  secrets text NOT NULL,
  settings text NOT NULL,
  PRIMARY KEY (client, channel, tool)
);

-- 1: the call has proved who sends it; 0: nobody asked it to; NULL: kept before that was known.
ALTER TABLE delivery ADD COLUMN verified bigint;
