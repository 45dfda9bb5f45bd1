-- A contact that has any e-mail address has a first one: without one, the first of its further addresses becomes it. Its stamp is that of
-- the write that removed the address, or of none.
--:sqlite
INSERT INTO search_pending (client, record_kind, record_id)
SELECT client, 1, id FROM contact WHERE email IS NULL AND email_key IS NULL AND further_emails IS NOT NULL ON CONFLICT DO NOTHING;
UPDATE contact SET email = json_extract(further_emails, '$[0]'), email_key = f.first,
  further_emails = CASE WHEN json_array_length(further_emails) > 1 THEN json_remove(further_emails, '$[0]') END,
  stamps = json_set(COALESCE(stamps, '{}'), '$.first_email', json(COALESCE(json_extract(stamps, '$.email'), '[-1,0,""]')))
FROM (
  SELECT client, record_id, min(object_id) AS first FROM link
  WHERE tool = '' AND object_type = 'email' AND record_kind = 1 AND until_us IS NULL GROUP BY client, record_id
) AS f
WHERE contact.client = f.client AND contact.id = f.record_id AND email IS NULL AND email_key IS NULL AND further_emails IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM contact o WHERE o.client = f.client AND o.email_key = f.first);
--:postgres
INSERT INTO search_pending (client, record_kind, record_id)
SELECT client, 1, id FROM contact WHERE email IS NULL AND email_key IS NULL AND further_emails IS NOT NULL ON CONFLICT DO NOTHING;
UPDATE contact SET email = CAST(further_emails AS jsonb) ->> 0, email_key = f.first,
  further_emails = CASE WHEN jsonb_array_length(CAST(further_emails AS jsonb)) > 1 THEN CAST(CAST(further_emails AS jsonb) - 0 AS text) END,
  stamps = CAST(jsonb_set(COALESCE(CAST(stamps AS jsonb), '{}'), '{first_email}',
    COALESCE(CAST(stamps AS jsonb) -> 'email', '[-1,0,""]')) AS text)
FROM (
  SELECT client, record_id, min(object_id COLLATE "C") AS first FROM link
  WHERE tool = '' AND object_type = 'email' AND record_kind = 1 AND until_us IS NULL GROUP BY client, record_id
) AS f
WHERE contact.client = f.client AND contact.id = f.record_id AND email IS NULL AND email_key IS NULL AND further_emails IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM contact o WHERE o.client = f.client AND o.email_key = f.first);
