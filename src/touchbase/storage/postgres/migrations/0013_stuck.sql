-- Nothing to do here: PostgreSQL compares for a list of three too.
SELECT 1;
