-- Who put an address on a client's list, by request: the id of the person or key, who may take it back for an hour. NULL: a webhook, or
-- nobody known.
ALTER TABLE suppression_cause ADD COLUMN made_by TEXT;
