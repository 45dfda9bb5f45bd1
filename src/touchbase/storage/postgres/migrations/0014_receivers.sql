-- Kinds of endpoints: besides webhooks, messages to people.

ALTER TABLE webhook_endpoint ADD COLUMN kind text NOT NULL DEFAULT 'webhook';  -- what gets its events, such as webhook or slack
ALTER TABLE webhook_endpoint ADD COLUMN settings text NOT NULL DEFAULT '{}';  -- JSON: what only this kind has, such as a template
