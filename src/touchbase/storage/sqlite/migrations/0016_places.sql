-- Entries stand at their receipt where the tool's time lies ahead of it (decision 26). Records from before, whose newest status is of
-- such an event, say so too, so that a walk through their history comes to the same.
UPDATE contact SET status_changed_us = e.received_us FROM event e
  WHERE e.client = contact.client AND e.record_kind = 1 AND e.record_id = contact.id AND e.occurred_us = contact.status_changed_us
  AND e.occurred_us > e.received_us AND e.effect <> '';
UPDATE contact SET status_entry_us = e.received_us, status_entry_key = '+' || printf('%015d', e.occurred_us - e.received_us) || ':' || e.key FROM event e
  WHERE e.client = contact.client AND e.record_kind = 1 AND e.record_id = contact.id AND e.occurred_us = contact.status_entry_us
  AND e.key = contact.status_entry_key AND e.occurred_us > e.received_us;
UPDATE company SET status_changed_us = e.received_us FROM event e
  WHERE e.client = company.client AND e.record_kind = 2 AND e.record_id = company.id AND e.occurred_us = company.status_changed_us
  AND e.occurred_us > e.received_us AND e.effect <> '';
UPDATE company SET status_entry_us = e.received_us, status_entry_key = '+' || printf('%015d', e.occurred_us - e.received_us) || ':' || e.key FROM event e
  WHERE e.client = company.client AND e.record_kind = 2 AND e.record_id = company.id AND e.occurred_us = company.status_entry_us
  AND e.key = company.status_entry_key AND e.occurred_us > e.received_us;

-- Known facts are those of calls: entries of the API, of which each creation is one, are left out of their index.
DROP INDEX event_key;
CREATE INDEX event_key ON event (client, key, occurred_us) WHERE delivery_id IS NOT NULL;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('event', 'event_key', '10000000 1000000 2 1 1 1');
