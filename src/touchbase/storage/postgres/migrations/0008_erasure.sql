-- Secrets that this store has made for itself, by name. Beside the clients' data and of none of them.
CREATE TABLE server_secret (
  name text NOT NULL PRIMARY KEY,
  value bytea NOT NULL
);

-- Each erasure that was asked for: how far the inbox has been searched, and what was removed. Nothing of the person.
CREATE TABLE erasure (
  client bigint NOT NULL,
  id bigint NOT NULL,
  asked_us bigint NOT NULL,
  done_us bigint,
  swept_to bigint NOT NULL,
  sweep_until bigint NOT NULL,
  removed text NOT NULL,
  PRIMARY KEY (client, id)
);
CREATE INDEX erasure_open ON erasure (client, id) WHERE done_us IS NULL;
INSERT INTO id_block (name, next) VALUES ('erasure', 1);

-- Keyed hashes of the identities that were erased. derived 1: an object that was only seen together with one of them.
CREATE TABLE erased (
  client bigint NOT NULL,
  digest bytea NOT NULL,
  erasure bigint NOT NULL,
  derived bigint NOT NULL,
  erased_us bigint NOT NULL,
  PRIMARY KEY (client, digest)
);
CREATE INDEX erased_together ON erased (client, erasure);

-- Why a delivery has no body any more ('erased', 'retention'), and since when.
ALTER TABLE delivery ADD COLUMN body_gone text;
ALTER TABLE delivery ADD COLUMN body_gone_us bigint;
CREATE INDEX delivery_with_body ON delivery (client, applied_us, id) WHERE applied_us IS NOT NULL AND body_gone IS NULL;
