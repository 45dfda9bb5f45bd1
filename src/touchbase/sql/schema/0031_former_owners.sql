-- Owners of a key before the one in its row of `link`, each until when: an event belongs to the owner at its time. A record that was merged
-- into another stays named here; the link from its id leads to the survivor.
CREATE TABLE former_owner (
  client INTEGER NOT NULL,
  object_type TEXT NOT NULL,              -- as in link
  object_id TEXT NOT NULL,
  until_us INTEGER NOT NULL,
  record_kind INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  PRIMARY KEY (client, object_type, object_id, until_us, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX former_owner_record ON former_owner (client, record_kind, record_id);
