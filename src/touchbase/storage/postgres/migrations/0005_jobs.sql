-- Jobs: imports, exports and other work in the background, with their files, and mappings of import files.

CREATE TABLE job (
  client bigint NOT NULL,
  id bigint NOT NULL,
  kind text NOT NULL,                     -- such as contacts.import
  state text NOT NULL,                    -- uploading, preview, queued, running, succeeded, failed, cancelled
  created_us bigint NOT NULL,
  updated_us bigint NOT NULL,
  started_us bigint,                      -- when a worker first took it
  finished_us bigint,
  settings text NOT NULL,                 -- JSON: what it is to do, by its kind
  position text NOT NULL,                 -- JSON: its last checkpoint, by its kind; written in the transaction of the work
  progress text NOT NULL,                 -- JSON: its counts, as responses show them
  error text,                             -- why it failed, in a sentence
  attempts bigint NOT NULL,               -- claims since its last checkpoint
  token text NOT NULL,                    -- the worker that has it; '': none
  lease_until_us bigint NOT NULL,         -- no other worker takes it before this time
  files_until_us bigint,                  -- when its files are removed; NULL: not decided
  made_by text,                           -- id of the API key
  PRIMARY KEY (client, id)
);
CREATE INDEX job_due ON job (lease_until_us, client, id) WHERE state IN ('queued', 'running');
CREATE INDEX job_files_until ON job (files_until_us, client, id) WHERE files_until_us IS NOT NULL;

-- The files of jobs, in pieces, so that every process can read them and none holds a whole file.
CREATE TABLE job_file (
  client bigint NOT NULL,
  job_id bigint NOT NULL,                 -- job.id
  name text NOT NULL,                     -- input, result, bad_rows
  number bigint NOT NULL,                 -- of the piece, from 0
  body bytea NOT NULL,
  PRIMARY KEY (client, job_id, name, number)
);

-- What an import does with the columns of a source's files.
CREATE TABLE import_mapping (
  client bigint NOT NULL,
  record text NOT NULL,                   -- contact or company
  name text NOT NULL,                     -- of the source
  mapping text NOT NULL,                  -- JSON (imports.columns.Mapping)
  updated_us bigint NOT NULL,
  PRIMARY KEY (client, record, name)
);

INSERT INTO id_block (name, next) VALUES ('job', 1);

DO $$
DECLARE
  tenant text;
BEGIN
  FOREACH tenant IN ARRAY ARRAY['job', 'job_file', 'import_mapping'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant);
    EXECUTE format(
      'CREATE POLICY of_client ON %I USING (strpos(current_setting(''touchbase.clients'', true), '','' || client || '','') > 0 '
      'OR current_setting(''touchbase.clients'', true) IN (''all''))', tenant);
  END LOOP;
END
$$;
