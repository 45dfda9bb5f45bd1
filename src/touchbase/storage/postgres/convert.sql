-- From the migrations before `0001_initial` (storage/sql/squash.py) to the schema that it makes.
DELETE FROM migration;
