-- Contacts that got further e-mail addresses by an upgrade were not found by them; the index gets their words.
INSERT INTO search_pending (client, record_kind, record_id)
SELECT client, 1, id FROM contact WHERE further_emails IS NOT NULL ON CONFLICT DO NOTHING;
