-- Entries of the do-not-contact lists that name a profile's page of Sales Navigator, Recruiter or a mobile site get the key of the profile.
-- Of several entries of one profile the one in force longest stays, with the causes of all; a removed one ends none of another's.
-- Contacts whose pages 0021_profiles did not convert get their key too, unless another contact has it.
CREATE TABLE former_key (
  list INTEGER NOT NULL,                  -- 1: suppression, 2: installation_suppression, 3: contact
  of_client INTEGER NOT NULL, id INTEGER NOT NULL, value TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (list, of_client, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX former_key_key ON former_key (list, of_client, key, id);
INSERT INTO former_key (list, of_client, id, value, key)
SELECT 1, client, id, value, value FROM suppression WHERE kind = 'linkedin_url' AND hashed = 0 AND value LIKE 'linkedin.com/%'
UNION ALL SELECT 2, 0, id, value, value FROM installation_suppression WHERE kind = 'linkedin_url' AND value LIKE 'linkedin.com/%'
UNION ALL SELECT 3, client, id, linkedin_key, linkedin_key FROM contact WHERE linkedin_key LIKE 'linkedin.com/talent/profile/_%';
--:sqlite
INSERT INTO former_key (list, of_client, id, value, key)
SELECT 3, client, id, '', lower(substr(linkedin_url, instr(lower(linkedin_url), 'linkedin.com/'))) FROM contact
WHERE linkedin_key IS NULL AND lower(linkedin_url) LIKE '%linkedin.com/_%/_%' AND lower(linkedin_url) NOT LIKE '%linkedin.com/in/%';
UPDATE former_key SET key = substr(key, 1, instr(replace(key, '#', '?') || '?', '?') - 1) WHERE list = 3;
UPDATE former_key SET key = replace(replace(replace(replace(replace(replace(replace(replace(
  key, char(173), ''), char(8203), ''), char(8204), ''), char(8205), ''), char(8206), ''), char(8207), ''), char(8288), ''), char(65279), '');
--:postgres
INSERT INTO former_key (list, of_client, id, value, key)
SELECT 3, client, id, '', lower(substr(linkedin_url, strpos(lower(linkedin_url), 'linkedin.com/'))) FROM contact
WHERE linkedin_key IS NULL AND lower(linkedin_url) LIKE '%linkedin.com/_%/_%' AND lower(linkedin_url) NOT LIKE '%linkedin.com/in/%';
UPDATE former_key SET key = split_part(replace(key, '#', '?'), '?', 1) WHERE list = 3;
UPDATE former_key SET key = translate(key, U&'\00AD\200B\200C\200D\200E\200F\2060\FEFF', '');
--:both
UPDATE former_key SET key = 'linkedin.com/' || substr(key, 14 + CASE
  WHEN key LIKE 'linkedin.com/mwlite/%' OR key LIKE 'linkedin.com/mobile/%' THEN 7 WHEN key LIKE 'linkedin.com/comm/%' THEN 5
  WHEN key LIKE 'linkedin.com/m/%' THEN 2 ELSE 0 END);
-- A name or id in these ends at the first comma or slash: what follows is cut off, one part after the other, from the end.
UPDATE former_key SET key = CASE
  WHEN key LIKE 'linkedin.com/sales/lead/_%' THEN 'linkedin.com/in/' || replace(substr(key, 25), ',', '/')
  WHEN key LIKE 'linkedin.com/sales/people/_%' THEN 'linkedin.com/in/' || replace(substr(key, 27), ',', '/')
  WHEN key LIKE 'linkedin.com/sales/profile/_%' THEN 'linkedin.com/in/' || replace(substr(key, 28), ',', '/')
  WHEN key LIKE 'linkedin.com/talent/profile/a%' THEN 'linkedin.com/in/' || replace(substr(key, 29), ',', '/')
  WHEN key LIKE 'linkedin.com/talent/profile/_%' THEN 'linkedin.com/talent/' || replace(substr(key, 29), ',', '/')
  WHEN key LIKE 'linkedin.com/recruiter/profile/a%' THEN 'linkedin.com/in/' || replace(substr(key, 32), ',', '/')
  WHEN key LIKE 'linkedin.com/recruiter/profile/_%' THEN 'linkedin.com/talent/' || replace(substr(key, 32), ',', '/')
  ELSE key END;
UPDATE former_key SET key = (
  WITH RECURSIVE cut (part) AS (
    SELECT key UNION ALL SELECT rtrim(rtrim(part, replace(part, '/', '')), '/') FROM cut
    WHERE length(part) - length(replace(part, '/', '')) > CASE WHEN part LIKE 'linkedin.com/pub/%' THEN 5 ELSE 2 END
  )
  SELECT part FROM cut ORDER BY length(part) LIMIT 1
) WHERE key LIKE 'linkedin.com/in/%' OR key LIKE 'linkedin.com/talent/%' OR key LIKE 'linkedin.com/pub/%';
UPDATE former_key SET key = rtrim(key, ' ,;"''`<>()[]{}');
DELETE FROM former_key WHERE NOT (key LIKE 'linkedin.com/in/_%' OR key LIKE 'linkedin.com/talent/_%' OR key LIKE 'linkedin.com/pub/_%')
  OR key LIKE 'linkedin.com/pub/dir/%' OR (list = 3 AND key = value)
  OR key IN ('linkedin.com/in/null', 'linkedin.com/in/undefined', 'linkedin.com/in/none', 'linkedin.com/in/nan', 'linkedin.com/in/unknown',
    'linkedin.com/in/me', 'linkedin.com/in/edit', 'linkedin.com/in/unavailable', 'linkedin.com/in/linkedin');

UPDATE contact SET linkedin_key = (SELECT f.key FROM former_key f WHERE f.list = 3 AND f.of_client = contact.client AND f.id = contact.id)
WHERE EXISTS (SELECT 1 FROM former_key f WHERE f.list = 3 AND f.of_client = contact.client AND f.id = contact.id
  AND NOT EXISTS (SELECT 1 FROM former_key e WHERE e.list = 3 AND e.of_client = f.of_client AND e.key = f.key AND e.id < f.id)
  AND NOT EXISTS (SELECT 1 FROM contact o WHERE o.client = f.of_client AND o.linkedin_key = f.key));

-- Entries that change; `kept` is the one of the profile that stays. The causes of the others end where its own removal is, or do not end.
CREATE TABLE listed_profile (
  list INTEGER NOT NULL, of_client INTEGER NOT NULL, id INTEGER NOT NULL, value TEXT NOT NULL, key TEXT NOT NULL, removed_us INTEGER NOT NULL,
  kept INTEGER NOT NULL, kept_removed_us INTEGER NOT NULL, PRIMARY KEY (list, of_client, value)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX listed_profile_id ON listed_profile (list, of_client, id);
INSERT INTO listed_profile (list, of_client, id, value, key, removed_us, kept, kept_removed_us)
SELECT list, of_client, id, value, key, removed_us, first_value(id) OVER places, first_value(removed_us) OVER places
FROM (
  SELECT f.list, f.of_client, f.id, f.value, f.key, COALESCE(s.removed_us, 0) AS removed_us,
    CASE WHEN f.list = 1 AND s.reason IS NULL THEN 2 WHEN COALESCE(s.until_us, i.until_us) IS NULL THEN 0 ELSE 1 END AS ends,
    -COALESCE(s.until_us, i.until_us, 0) AS until_us
  FROM former_key f
  LEFT JOIN suppression s ON f.list = 1 AND s.client = f.of_client AND s.id = f.id
  LEFT JOIN installation_suppression i ON f.list = 2 AND i.id = f.id
  WHERE f.list <> 3
) AS entry WINDOW places AS (PARTITION BY list, of_client, key ORDER BY ends, until_us, id);
DELETE FROM listed_profile WHERE kept = id AND value = key;
UPDATE suppression_cause SET at_us = (
  SELECT CASE
    WHEN (suppression_cause.at_us <= l.removed_us) = (suppression_cause.at_us <= l.kept_removed_us) THEN suppression_cause.at_us
    WHEN suppression_cause.at_us <= l.removed_us THEN l.kept_removed_us ELSE l.kept_removed_us + 1 END
  FROM listed_profile l
  WHERE l.list = 1 AND l.of_client = suppression_cause.client AND l.value = suppression_cause.value)
WHERE kind = 'linkedin_url' AND EXISTS (SELECT 1 FROM listed_profile l
  WHERE l.list = 1 AND l.of_client = suppression_cause.client AND l.value = suppression_cause.value AND l.kept <> l.id);
DELETE FROM suppression_cause WHERE kind = 'linkedin_url' AND EXISTS (SELECT 1 FROM listed_profile l
  JOIN listed_profile k ON k.list = 1 AND k.of_client = l.of_client AND k.id = l.kept
  JOIN suppression_cause c ON c.client = k.of_client AND c.kind = 'linkedin_url' AND c.value = k.value AND c.key = suppression_cause.key
  WHERE l.list = 1 AND l.of_client = suppression_cause.client AND l.value = suppression_cause.value AND l.kept <> l.id);
INSERT INTO suppression_cause (client, kind, value, key, reason, source, note, since_us, until_us, at_us, tool, delivery_id)
SELECT c.client, c.kind, l.key, c.key, c.reason, c.source, c.note, c.since_us, c.until_us, c.at_us, c.tool, c.delivery_id
FROM listed_profile l JOIN suppression_cause c ON c.client = l.of_client AND c.kind = 'linkedin_url' AND c.value = l.value
WHERE l.list = 1 AND l.value <> l.key ORDER BY CASE WHEN l.kept = l.id THEN 0 ELSE 1 END, l.id
ON CONFLICT (client, kind, value, key) DO NOTHING;
DELETE FROM suppression_cause WHERE kind = 'linkedin_url' AND EXISTS (SELECT 1 FROM listed_profile l
  WHERE l.list = 1 AND l.of_client = suppression_cause.client AND l.value = suppression_cause.value AND l.value <> l.key);
DELETE FROM suppression WHERE EXISTS (SELECT 1 FROM listed_profile l
  WHERE l.list = 1 AND l.of_client = suppression.client AND l.id = suppression.id AND l.kept <> l.id);
UPDATE suppression SET value = (SELECT l.key FROM listed_profile l WHERE l.list = 1 AND l.of_client = suppression.client AND l.id = suppression.id)
WHERE EXISTS (SELECT 1 FROM listed_profile l WHERE l.list = 1 AND l.of_client = suppression.client AND l.id = suppression.id);
DELETE FROM installation_suppression WHERE id IN (SELECT id FROM listed_profile WHERE list = 2 AND kept <> id);
UPDATE installation_suppression SET value = (SELECT l.key FROM listed_profile l WHERE l.list = 2 AND l.id = installation_suppression.id)
WHERE id IN (SELECT id FROM listed_profile WHERE list = 2);
DROP TABLE listed_profile;
DROP TABLE former_key;
