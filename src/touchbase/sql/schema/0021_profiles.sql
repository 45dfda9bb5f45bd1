-- LinkedIn addresses identify a person only if they are a profile's: companies' pages, searches and other texts are no keys any more.
-- Addresses of Sales Navigator and of mobile pages get the key of the profile, unless another contact has it.
--:sqlite
UPDATE contact SET linkedin_key = p.key
FROM (
  SELECT client, min(id) AS id, 'linkedin.com/in/' || substr(name, 1, instr(name || ',', ',') - 1) AS key
  FROM (
    SELECT client, id, replace(CASE
      WHEN linkedin_key LIKE 'linkedin.com/sales/lead/%' THEN substr(linkedin_key, 25)
      WHEN linkedin_key LIKE 'linkedin.com/sales/people/%' THEN substr(linkedin_key, 27)
      ELSE substr(linkedin_key, 24) END, '/', ',') AS name
    FROM contact WHERE linkedin_key LIKE 'linkedin.com/sales/lead/_%' OR linkedin_key LIKE 'linkedin.com/sales/people/_%'
    OR linkedin_key LIKE 'linkedin.com/mwlite/in/_%'
  ) AS n GROUP BY client, 3
) AS p
WHERE contact.client = p.client AND contact.id = p.id
AND NOT EXISTS (SELECT 1 FROM contact o WHERE o.client = p.client AND o.linkedin_key = p.key);
--:postgres
UPDATE contact SET linkedin_key = p.key
FROM (
  SELECT client, min(id) AS id, 'linkedin.com/in/' || split_part(name, ',', 1) AS key
  FROM (
    SELECT client, id, replace(CASE
      WHEN linkedin_key LIKE 'linkedin.com/sales/lead/%' THEN substr(linkedin_key, 25)
      WHEN linkedin_key LIKE 'linkedin.com/sales/people/%' THEN substr(linkedin_key, 27)
      ELSE substr(linkedin_key, 24) END, '/', ',') AS name
    FROM contact WHERE linkedin_key LIKE 'linkedin.com/sales/lead/_%' OR linkedin_key LIKE 'linkedin.com/sales/people/_%'
    OR linkedin_key LIKE 'linkedin.com/mwlite/in/_%'
  ) AS n GROUP BY client, 3
) AS p
WHERE contact.client = p.client AND contact.id = p.id
AND NOT EXISTS (SELECT 1 FROM contact o WHERE o.client = p.client AND o.linkedin_key = p.key);
--:both
UPDATE contact SET linkedin_key = NULL WHERE linkedin_key IS NOT NULL AND (
  NOT (linkedin_key LIKE 'linkedin.com/in/_%' OR linkedin_key LIKE 'linkedin.com/pub/_%' OR linkedin_key LIKE 'linkedin.com/talent/_%')
  OR linkedin_key LIKE 'linkedin.com/pub/dir/%'
  OR linkedin_key IN ('linkedin.com/in/null', 'linkedin.com/in/undefined', 'linkedin.com/in/none', 'linkedin.com/in/nan', 'linkedin.com/in/unknown')
);
DELETE FROM link WHERE tool = '' AND object_type = 'linkedin' AND (
  NOT (object_id LIKE 'linkedin.com/in/_%' OR object_id LIKE 'linkedin.com/pub/_%' OR object_id LIKE 'linkedin.com/talent/_%')
  OR object_id LIKE 'linkedin.com/pub/dir/%'
  OR object_id IN ('linkedin.com/in/null', 'linkedin.com/in/undefined', 'linkedin.com/in/none', 'linkedin.com/in/nan', 'linkedin.com/in/unknown')
);
DELETE FROM deleted_link WHERE tool = '' AND object_type = 'linkedin' AND (
  NOT (object_id LIKE 'linkedin.com/in/_%' OR object_id LIKE 'linkedin.com/pub/_%' OR object_id LIKE 'linkedin.com/talent/_%')
  OR object_id LIKE 'linkedin.com/pub/dir/%'
  OR object_id IN ('linkedin.com/in/null', 'linkedin.com/in/undefined', 'linkedin.com/in/none', 'linkedin.com/in/nan', 'linkedin.com/in/unknown')
);
