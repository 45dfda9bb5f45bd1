-- With what a tool's API may be asked for records that its calls leave out. '': it is never asked.
ALTER TABLE connection ADD COLUMN access_token TEXT NOT NULL DEFAULT '';

-- How asking goes. Nobody asks before next_us: a pause between calls, or the claim of the worker that asks now.
CREATE TABLE record_source (
  client INTEGER NOT NULL,
  tool TEXT NOT NULL,
  next_us INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  stopped INTEGER NOT NULL,
  error TEXT,
  error_us INTEGER,
  fetched_us INTEGER,
  PRIMARY KEY (client, tool)
) STRICT, WITHOUT ROWID;

-- Objects whose records are wanted. rank 0: events wait for it; 1: it is known, only its values have changed. thin 1:
-- what changed is not in our calls. next_us NULL: asked for and not there, not asked again until a call is about it.
CREATE TABLE wanted_record (
  client INTEGER NOT NULL,
  tool TEXT NOT NULL,
  object_type TEXT NOT NULL,
  object_id TEXT NOT NULL,
  rank INTEGER NOT NULL,
  thin INTEGER NOT NULL,
  wanted_us INTEGER NOT NULL,
  next_us INTEGER,
  attempts INTEGER NOT NULL,
  PRIMARY KEY (client, tool, object_type, object_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX wanted_record_due ON wanted_record (client, tool, rank, next_us) WHERE next_us IS NOT NULL;

INSERT INTO wanted_record (client, tool, object_type, object_id, rank, thin, wanted_us, next_us, attempts)
SELECT client, tool, object_type, object_id, 0, 1, 0, 0, 0 FROM link
WHERE (record_kind IS NULL OR record_kind = 3) AND tool IN ('attio', 'copper', 'folk', 'hubspot', 'monday', 'zoho');
