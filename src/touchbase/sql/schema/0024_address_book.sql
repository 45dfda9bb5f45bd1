-- The address book: which record has a key. Its present e-mail address, LinkedIn address, domain and external id are in its columns,
-- further ones are rows of `link` with the tool ''. A row is open while the key is the record's, and closed since `until_us`.
ALTER TABLE link ADD COLUMN until_us INTEGER;
ALTER TABLE deleted_link ADD COLUMN until_us INTEGER;
-- JSON: the further e-mail addresses of open rows, as they are shown; NULL: none.
ALTER TABLE contact ADD COLUMN further_emails TEXT;
-- A former key that another record has now is closed.
UPDATE link SET until_us = 0 WHERE tool = '' AND object_type = 'email'
  AND EXISTS (SELECT 1 FROM contact c WHERE c.client = link.client AND c.email_key = link.object_id AND c.id <> link.record_id);
UPDATE link SET until_us = 0 WHERE tool = '' AND object_type = 'linkedin'
  AND EXISTS (SELECT 1 FROM contact c WHERE c.client = link.client AND c.linkedin_key = link.object_id AND c.id <> link.record_id);
UPDATE link SET until_us = 0 WHERE tool = '' AND object_type = 'domain'
  AND EXISTS (SELECT 1 FROM company c WHERE c.client = link.client AND c.domain = link.object_id AND c.id <> link.record_id);
UPDATE deleted_link SET until_us = 0 WHERE tool = '' AND object_type = 'email' AND id IS NOT NULL
  AND EXISTS (SELECT 1 FROM contact c WHERE c.client = deleted_link.client AND c.email_key = deleted_link.object_id);
UPDATE deleted_link SET until_us = 0 WHERE tool = '' AND object_type = 'linkedin' AND id IS NOT NULL
  AND EXISTS (SELECT 1 FROM contact c WHERE c.client = deleted_link.client AND c.linkedin_key = deleted_link.object_id);
UPDATE deleted_link SET until_us = 0 WHERE tool = '' AND object_type = 'domain' AND id IS NOT NULL
  AND EXISTS (SELECT 1 FROM company c WHERE c.client = deleted_link.client AND c.domain = deleted_link.object_id);
--:sqlite
UPDATE contact SET further_emails = f.emails FROM (
  SELECT client, record_id, json_group_array(object_id) AS emails FROM (
    SELECT l.client, l.record_id, l.object_id FROM link l JOIN contact c ON c.client = l.client AND c.id = l.record_id
    WHERE l.tool = '' AND l.object_type = 'email' AND l.record_kind = 1 AND l.until_us IS NULL AND l.object_id IS NOT c.email_key
    ORDER BY l.client, l.record_id, l.object_id
  ) GROUP BY client, record_id
) f WHERE contact.client = f.client AND contact.id = f.record_id;
--:postgres
UPDATE contact SET further_emails = f.emails FROM (
  SELECT l.client, l.record_id, json_agg(l.object_id ORDER BY l.object_id COLLATE "C")::text AS emails
  FROM link l JOIN contact c ON c.client = l.client AND c.id = l.record_id
  WHERE l.tool = '' AND l.object_type = 'email' AND l.record_kind = 1 AND l.until_us IS NULL AND l.object_id IS DISTINCT FROM c.email_key
  GROUP BY l.client, l.record_id
) f WHERE contact.client = f.client AND contact.id = f.record_id;
-- Called after an insert, in the same statement: being volatile, it sees rows of `link` that were committed while the insert waited for
-- a unique index, which the statement itself does not.
CREATE FUNCTION require_free_keys(clients bigint[], words text[], keys text[]) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM unnest(clients, words, keys) AS k(client, word, key)
    JOIN link l ON l.client = k.client AND l.tool = '' AND l.object_type = k.word AND l.object_id = k.key
    WHERE l.until_us IS NULL
  ) THEN
    RAISE EXCEPTION 'a key has become a further one of another record' USING ERRCODE = 'serialization_failure';
  END IF;
  RETURN true;
END
$$;
