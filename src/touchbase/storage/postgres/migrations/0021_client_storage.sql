-- Stored bytes of each client, counted in the background (clients/stored_bytes.py).

-- Rows that are updated often: room on each page for their new versions.
CREATE TABLE client_storage (
  client bigint NOT NULL PRIMARY KEY,
  stored_bytes bigint NOT NULL,           -- of the last count that was completed
  counted_us bigint NOT NULL,             -- when that was; 0: never
  due_us bigint NOT NULL,                 -- when the next count may begin; while a process counts: when another may take over
  limit_bytes bigint NOT NULL,            -- the client's limit at the last count; 0: none
  is_warned bigint NOT NULL               -- 1: the last count was above the share of the limit from which the client is warned
) WITH (fillfactor = 50);

-- Like `erased`, it is read with the list of clients: `clients` sees it too.
ALTER TABLE client_storage ENABLE ROW LEVEL SECURITY;
ALTER TABLE client_storage FORCE ROW LEVEL SECURITY;
CREATE POLICY of_client ON client_storage USING (
  strpos(current_setting('touchbase.clients', true), ',' || client || ',') > 0
  OR current_setting('touchbase.clients', true) IN ('all', 'clients'));
