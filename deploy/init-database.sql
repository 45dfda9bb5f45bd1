-- Run once by the image of PostgreSQL, as its superuser, when the data folder is empty: the database, and the ordinary role that
-- Touchbase comes as. A superuser would pass row-level security by (docs/how-to/run-on-postgresql.md). The password stands in no process list.
\set password `cat /run/secrets/database_password`
CREATE ROLE touchbase LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD :'password';
CREATE DATABASE touchbase OWNER touchbase;
