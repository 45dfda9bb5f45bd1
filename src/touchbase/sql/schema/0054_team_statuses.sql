-- How the team works with statuses: one list for all clients, by the name of the status.
CREATE TABLE team_status (
  name TEXT COLLATE "C" PRIMARY KEY,
  position INTEGER NOT NULL,
  look TEXT NOT NULL                      -- JSON: label, color, group, key, closes
) STRICT, WITHOUT ROWID;
