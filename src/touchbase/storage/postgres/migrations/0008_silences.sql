-- Calls of connections by hour, and their silences: times without a call from a connection that usually calls.

-- How many webhooks of a connection's tool were processed, by the hour of their receipt; of the last weeks.
CREATE TABLE connection_calls (
  client bigint NOT NULL,
  channel text NOT NULL,
  tool text NOT NULL,
  hour bigint NOT NULL,                   -- hours since 1970
  calls bigint NOT NULL,
  PRIMARY KEY (client, channel, tool, hour)
);

CREATE TABLE connection_rhythm (
  client bigint NOT NULL,
  channel text NOT NULL,
  tool text NOT NULL,
  last_us bigint NOT NULL,                -- the last call
  due_us bigint,                          -- when it may be silent, and is judged; NULL: it is silent
  PRIMARY KEY (client, channel, tool)
);

CREATE TABLE connection_silence (
  client bigint NOT NULL,
  channel text NOT NULL,
  tool text NOT NULL,
  noticed_us bigint NOT NULL,
  since_us bigint NOT NULL,               -- the last call before it
  ended_us bigint,                        -- NULL: it lasts
  week bigint NOT NULL,                   -- calls of the seven days before
  usual_interval_s bigint,                -- between two calls at the hour at which it was noticed; NULL: less than one call is usual
  PRIMARY KEY (client, channel, tool, noticed_us)
);
CREATE INDEX connection_silence_open ON connection_silence (client, channel, tool) WHERE ended_us IS NULL;

-- One row: the last check for silences of any process.
CREATE TABLE silence_check (
  one bigint NOT NULL PRIMARY KEY,        -- 1
  checked_us bigint NOT NULL,
  since_us bigint NOT NULL                -- since when the checks have no gap
);

DO $$
DECLARE
  tenant text;
BEGIN
  FOREACH tenant IN ARRAY ARRAY['connection_calls', 'connection_rhythm', 'connection_silence'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant);
    EXECUTE format(
      'CREATE POLICY of_client ON %I USING (strpos(current_setting(''touchbase.clients'', true), '','' || client || '','') > 0 '
      'OR current_setting(''touchbase.clients'', true) IN (''all''))', tenant);
  END LOOP;
END
$$;
