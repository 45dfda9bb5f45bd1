-- Whether a fact is known to any record of the client: its key, and where it has no id of the tool, its time.
CREATE INDEX event_key ON event (client, key, occurred_us);
