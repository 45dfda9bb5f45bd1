-- Whether a fact is known to any record of the client: its key, and where it has no id of the tool, its time.
CREATE INDEX event_key ON event (client, key, occurred_us);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('event', 'event_key', '10000000 1000000 2 1 1 1');
