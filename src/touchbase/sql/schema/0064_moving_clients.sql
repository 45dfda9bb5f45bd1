--:postgres
-- Refuses writes of a client that moves to another database, in triggers that exist during the move alone.
CREATE FUNCTION refuse_moving_client() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION 'the client is moved to another database' USING ERRCODE = 'TBMOV'; END $$;
--:both
