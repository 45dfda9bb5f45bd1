-- Messages of one event by time first: keys of events are hashes, so each new message was on a page of its own.
DROP INDEX message_event;
CREATE UNIQUE INDEX message_event ON message (client, occurred_us, event_key);
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('message', 'message_event', '1000000 100000 2 1');
-- Reads the figures into this connection; else a new store is slow until it is opened again.
ANALYZE sqlite_schema;
--:both
