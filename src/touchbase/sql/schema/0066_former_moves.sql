-- Tables of the moves that an earlier version made while clients were written. An unfinished one has triggers that need them.
CREATE TABLE former_moves (
  unfinished INTEGER NOT NULL CONSTRAINT end_moves_of_clients_with_the_version_that_began_them CHECK (unfinished = 0)
) STRICT;
INSERT INTO former_moves (unfinished) SELECT count(*) FROM moving_client;
DROP TABLE former_moves;
DROP TABLE client_move;
DROP TABLE moving_client;
DROP TABLE moving_change;
