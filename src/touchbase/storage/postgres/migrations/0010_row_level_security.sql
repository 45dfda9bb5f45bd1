-- The second wall: a row can be seen, written or taken away only by a transaction whose scope holds its client. The
-- setting touchbase.clients is that scope (storage/sql/scope.py): ',1,5,9,' for three clients, 'all' for all of them,
-- 'clients' for the clients, their former ids and hashes of whom they erased; unset or empty it holds nobody. FORCE, because the tables' owner is who serves.
-- It stands before every table that has a column `client`, and before the clients themselves.
DO $$
DECLARE
  walled record;
BEGIN
  FOR walled IN
    SELECT c.relname AS name, a.attname AS client,
      CASE WHEN c.relname IN ('client', 'client_alias', 'erased') THEN '(''all'', ''clients'')' ELSE '(''all'')' END AS wide
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT a.attisdropped
      AND a.attname = CASE c.relname WHEN 'client' THEN 'id' ELSE 'client' END
    ORDER BY c.relname
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled.name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', walled.name);
    -- A search in text, and not in an array, which would be read anew for every row; and no subquery, which Citus refuses.
    EXECUTE format(
      'CREATE POLICY of_client ON %I USING (strpos(current_setting(''touchbase.clients'', true), '','' || %I || '','') > 0 '
      'OR current_setting(''touchbase.clients'', true) IN %s)', walled.name, walled.client, walled.wide);
  END LOOP;
END
$$;
