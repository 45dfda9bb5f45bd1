-- An opt-out belongs to the person: contacts whose status opts out are on the do-not-contact list of their client, under their e-mail
-- address or else their LinkedIn address, unless that was ever on it. The words are those of history/status_words.py. A status that got
-- another name makes an entry when it ends; until then it suppresses by itself.
INSERT INTO suppression_cause (client, kind, value, key, reason, source, note, since_us, at_us)
SELECT c.client, CASE WHEN c.email_key IS NULL THEN 'linkedin_url' ELSE 'email' END, COALESCE(c.email_key, c.linkedin_key),
  'status ' || c.id || ' ' || COALESCE(c.status_changed_us, c.created_us), 'status', 'api', 'status ''' || c.status || '''',
  COALESCE(c.status_changed_us, c.created_us), COALESCE(c.status_changed_us, c.created_us)
FROM contact c WHERE COALESCE(c.email_key, c.linkedin_key) IS NOT NULL
AND replace(replace(replace(replace(replace(lower(c.status), ' ', ''), '_', ''), '-', ''), '.', ''), '/', '') IN (
  'blacklist', 'blacklisted', 'blocklist', 'blocklisted', 'complained', 'dnc', 'donotcontact', 'donotemail', 'donotmail',
  'donotreach', 'emailoptedout', 'emailoptout', 'hasoptedoutofemail', 'nocontact', 'optedout', 'optedoutofemail', 'optout',
  'removeme', 'spamcomplaint', 'suppressed', 'unsub', 'unsubscribe', 'unsubscribed', 'unsubscribedfromallemail'
) AND NOT EXISTS (
  SELECT 1 FROM suppression s WHERE s.client = c.client AND s.kind = CASE WHEN c.email_key IS NULL THEN 'linkedin_url' ELSE 'email' END
  AND s.value = COALESCE(c.email_key, c.linkedin_key)
);
INSERT INTO suppression (client, kind, value, id, hashed, created_us, updated_us, removed_us, reason, source, note, since_us)
SELECT o.client, o.kind, o.value, b.next + row_number() OVER (ORDER BY o.client, o.kind, o.value) - 1, 0, o.at_us, o.at_us, 0, o.reason,
  o.source, o.note, o.since_us
FROM suppression_cause o JOIN id_block b ON b.name = 'suppression' WHERE o.reason = 'status';
UPDATE id_block SET next = next + (SELECT count(*) FROM suppression WHERE reason = 'status') WHERE name = 'suppression';
