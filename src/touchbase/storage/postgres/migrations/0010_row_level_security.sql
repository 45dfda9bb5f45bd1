-- The second wall: a row can be seen, written or taken away only by a transaction whose scope holds its client. The
-- setting touchbase.clients is that scope (storage/sql/scope.py): ',1,5,9,' for three clients, 'all' for all of them; unset
-- or empty it holds nobody. FORCE, because the tables' owner is who serves. Of every table that has a column `client`.
DO $$
DECLARE
  walled text;
BEGIN
  FOR walled IN
    SELECT c.relname
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
      AND a.attname = 'client' AND NOT a.attisdropped
    ORDER BY c.relname
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', walled);
    -- A search in text, and not in an array, which would be read anew for every row; and no subquery, which Citus refuses.
    EXECUTE format(
      'CREATE POLICY of_client ON %I USING (strpos(current_setting(''touchbase.clients'', true), '','' || client || '','') > 0 '
      'OR current_setting(''touchbase.clients'', true) = ''all'')', walled);
  END LOOP;
END
$$;
