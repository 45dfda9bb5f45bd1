-- From the migrations before `0001_initial` (storage/sql/squash.py) to the schema that it makes.
DELETE FROM migration;

-- The figures of an empty store, and of a table that needs none.
DELETE FROM sqlite_stat1 WHERE stat LIKE '0 0%' OR tbl = 'id_block';
