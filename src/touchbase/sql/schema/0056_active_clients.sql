-- The numbers of active clients, without their settings: lists over all clients read tens of thousands of them.
CREATE INDEX client_active ON client (id) WHERE state = 'active';
--:sqlite
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('client', 'client_active', '10000 1'), ('client', 'client_linking', '100 1');
ANALYZE sqlite_schema;
--:both
