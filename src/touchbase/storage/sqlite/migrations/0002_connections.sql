-- Which tools a client has connected on which channel. Secrets and settings are JSON.
CREATE TABLE connection (
  client INTEGER NOT NULL,
  channel TEXT NOT NULL,
  tool TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,
  secrets TEXT NOT NULL,
  settings TEXT NOT NULL,
  PRIMARY KEY (client, channel, tool)
) STRICT, WITHOUT ROWID;

-- 1: the call has proved who sends it; 0: nobody asked it to; NULL: kept before that was known.
ALTER TABLE delivery ADD COLUMN verified INTEGER;
