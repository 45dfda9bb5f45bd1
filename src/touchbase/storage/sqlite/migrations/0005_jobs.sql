-- Jobs: imports, exports and other work in the background, with their files, and mappings of import files.

CREATE TABLE job (
  client INTEGER NOT NULL,
  id INTEGER NOT NULL,
  kind TEXT NOT NULL,                     -- such as contacts.import
  state TEXT NOT NULL,                    -- uploading, preview, queued, running, succeeded, failed, cancelled
  created_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,
  started_us INTEGER,                     -- when a worker first took it
  finished_us INTEGER,
  settings TEXT NOT NULL,                 -- JSON: what it is to do, by its kind
  position TEXT NOT NULL,                 -- JSON: its last checkpoint, by its kind; written in the transaction of the work
  progress TEXT NOT NULL,                 -- JSON: its counts, as responses show them
  error TEXT,                             -- why it failed, in a sentence
  attempts INTEGER NOT NULL,              -- claims since its last checkpoint
  token TEXT NOT NULL,                    -- the worker that has it; '': none
  lease_until_us INTEGER NOT NULL,        -- no other worker takes it before this time
  files_until_us INTEGER,                 -- when its files are removed; NULL: not decided
  made_by TEXT,                           -- id of the API key
  PRIMARY KEY (client, id)
) STRICT;
CREATE INDEX job_due ON job (lease_until_us, client, id) WHERE state IN ('queued', 'running');
CREATE INDEX job_files_until ON job (files_until_us, client, id) WHERE files_until_us IS NOT NULL;

-- The files of jobs, in pieces, so that every process can read them and none holds a whole file.
CREATE TABLE job_file (
  client INTEGER NOT NULL,
  job_id INTEGER NOT NULL,                -- job.id
  name TEXT NOT NULL,                     -- input, result, bad_rows
  number INTEGER NOT NULL,                -- of the piece, from 0
  body BLOB NOT NULL,
  PRIMARY KEY (client, job_id, name, number)
) STRICT;

-- What an import does with the columns of a source's files.
CREATE TABLE import_mapping (
  client INTEGER NOT NULL,
  record TEXT NOT NULL,                   -- contact or company
  name TEXT NOT NULL,                     -- of the source
  mapping TEXT NOT NULL,                  -- JSON (imports.columns.Mapping)
  updated_us INTEGER NOT NULL,
  PRIMARY KEY (client, record, name)
) STRICT;

INSERT INTO id_block (name, next) VALUES ('job', 1);
